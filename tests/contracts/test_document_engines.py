"""Every engine of mode maxsim answers what loops over all stored nuggets answer."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indexer.nuggets.files
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.errors import SegmentCorrupt
from indexer.nuggets.candidates import DocumentCandidates
from indexer.nuggets.files import INDEX
from indexer.nuggets.recipe import NuggetRecipe, with_nuggets
from indexer.nuggets.representation import stored_nuggets
from indexer.nuggets.rows import NuggetRows
from indexer.nuggets.scan import DocumentEngine, NuggetScan, ScoredDocument, count_documents
from indexer.segments import layout
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Recipe
from models.ops.quantization import dequantize
from models.types import Document, Part
from tests import reference
from tests.examples import examples
from tests.reference import RefNuggets

DIM = 32
RECIPE = with_nuggets(Recipe("none", "none", 4), NuggetRecipe("none", DIM, 0.5))
_number = count()
ENGINES = [NuggetScan(), DocumentCandidates()]

# A document: nuggets in each of its parts, whose metadata is their number, and whether it is dead.
drawn_documents = st.lists(st.tuples(st.lists(st.integers(0, 4), max_size=3), st.booleans()), max_size=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents")


def write(folder: Path, documents: Sequence[tuple[str, Sequence[np.ndarray]]]) -> Segment:
    """A segment in which every unit has a nugget."""
    folder = folder / f"segment-{next(_number)}"
    with SegmentWriter(folder, RECIPE) as writer:
        for id, parts in documents:
            spans = [np.stack([np.arange(len(part)) * 2, np.arange(len(part)) * 2 + 1], axis=1) for part in parts]
            texts = [Part("x " * len(part), {"n": number}) for number, part in enumerate(parts)]
            writer.add_document(
                Document(id, tuple(texts), {"even": int(id) % 2 == 0}), "", [PartUnits(each, 0) for each in spans]
            )
            vectors = np.concatenate([np.zeros((0, DIM), np.float32), *parts])
            rows = NuggetRows(vectors, np.concatenate([np.zeros((0, 2), int), *spans]), np.arange(len(vectors)))
            writer.add_vectors(vectors[:, :4], {"nuggets": rows})
        return Segment(folder, writer.finish().manifest_sha256)


def known(view: SegmentView) -> list[RefNuggets]:
    """What of a segment is alive, read back from its files."""
    segment, found = view.segment, []
    stored = dequantize(stored_nuggets(segment).codes, stored_nuggets(segment).scales)
    for number in np.flatnonzero(view.live_documents).tolist():
        parts = []
        for part in range(*segment.document_parts[number : number + 2].tolist()):
            inside = np.isin(stored_nuggets(segment).units, np.arange(*segment.part_units[part : part + 2]))
            parts.append((stored[inside], segment.part_metadata(part)))
        found.append(RefNuggets(segment.document_id(number), parts, segment.document_metadata(number)))
    return found


def directions(rng: np.random.Generator, count: int) -> np.ndarray:
    vectors = rng.normal(size=(count, DIM))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def snapshot_of(folder: Path, segments: Sequence[Any], seed: int) -> Snapshot:
    rng, ids, views = np.random.default_rng(seed), count(), []
    for documents in segments:
        made = [(f"{next(ids):03d}", [directions(rng, size) for size in parts]) for parts, _ in documents]
        dead = [number for number, (_, is_dead) in enumerate(documents) if is_dead]
        views.append(SegmentView(write(folder, made), np.array(dead, np.int64)))
    return Snapshot(1, RECIPE, views)


def figures(found: Sequence[ScoredDocument]) -> list[tuple[float, str]]:
    return [(document.cosine, document.document_id) for document in found]


@settings(max_examples=examples(25))
@given(
    st.lists(drawn_documents, max_size=3),
    st.lists(st.integers(1, 70), min_size=1, max_size=3),
    st.integers(0, 99),
    st.sampled_from([1, 2, 100]),
    st.sampled_from([None, -1.0, 0.2, 0.5]),
    st.sampled_from([Filter(), Filter({"even": True}), Filter(part={"n": 1}), Filter({"even": False}, {"n": 0})]),
)
def test_engines_answer_what_loops_answer(folder: Path, segments, sizes, seed, top_k, floor, wanted) -> None:
    snapshot = snapshot_of(folder, segments, seed)
    queries = [directions(np.random.default_rng(seed + size), size) for size in sizes]
    documents = [document for view in snapshot.views for document in known(view)]
    for engine in ENGINES:
        assert isinstance(engine, DocumentEngine)
        answers = engine.search(snapshot, queries, Selection(top_k, floor, "document", wanted))
        for query, found in zip(queries, answers, strict=True):
            expected = reference.document_hits(
                documents, query, top_k=top_k, floor=floor, document_filter=wanted.document, part_filter=wanted.part
            )
            assert [id for _, id in figures(found)] == [id for _, id in expected]
            assert [cosine for cosine, _ in figures(found)] == pytest.approx([each for each, _ in expected], abs=1e-6)


def test_equals_are_in_the_order_of_their_ids_whatever_segment_they_are_in(folder: Path) -> None:
    same = directions(np.random.default_rng(1), 3)
    segments = [write(folder, [(id, [same])]) for id in ("2", "0")] + [write(folder, [("3", [same]), ("1", [same])])]
    snapshot = Snapshot(1, RECIPE, [SegmentView(each, np.zeros(0, np.int64)) for each in segments])
    for engine in ENGINES:
        for top_k in (2, 4):
            (found,) = engine.search(snapshot, [directions(np.random.default_rng(2), 5)], Selection(top_k))
            assert [document.document_id for document in found] == ["0", "1", "2", "3"][:top_k]
            assert len({document.cosine for document in found}) == 1


def test_a_figure_does_not_depend_on_what_else_is_asked_or_stored(folder: Path) -> None:
    rng = np.random.default_rng(3)
    alone = write(folder, [("1", [directions(rng, 9)])])
    vectors = dequantize(stored_nuggets(alone).codes, stored_nuggets(alone).scales)
    among = write(folder, [("0", [directions(rng, 5)]), ("1", [vectors]), ("2", [directions(rng, 7)])])
    queries = [directions(rng, size) for size in (3, 1, 80)]
    for number, query in enumerate(queries):
        (one,) = NuggetScan().search(Snapshot(1, RECIPE, [_all(alone)]), [query], Selection())[0]
        many = NuggetScan().search(Snapshot(1, RECIPE, [_all(among), _all(alone)]), queries, Selection())[number]
        assert [document.cosine for document in many if document.document_id == "1"] == [one.cosine] * 2


def _all(segment: Segment) -> SegmentView:
    return SegmentView(segment, np.zeros(0, np.int64))


def test_the_census_counts_what_a_search_without_a_limit_finds(folder: Path) -> None:
    snapshot = snapshot_of(folder, [[([3, 2], False), ([], False), ([1], True)], [([4], False)]], seed=5)
    query = directions(np.random.default_rng(6), 4)
    for wanted in (Filter(), Filter(part={"n": 0})):
        (found,) = NuggetScan().search(snapshot, [query], Selection(100, filter=wanted))
        census = count_documents(snapshot, query, wanted)
        assert sorted(census.documents.tolist(), reverse=True) == [document.cosine for document in found]
        assert {census.document(row).document_id for row in range(len(found))} == {each.document_id for each in found}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> SegmentView:
    """2,000 documents about 100 things, indexed by FAISS; every fifth is dead."""
    patch, rng = pytest.MonkeyPatch(), np.random.default_rng(11)
    patch.setattr(indexer.nuggets.files, "WORTH_INDEX", 1_000)
    things = directions(rng, 100)
    documents = []
    for number in range(2_000):
        about = things[rng.integers(0, 100, 6)] + 0.15 * rng.normal(size=(6, DIM))
        documents.append((f"{number:04d}", [about.astype(np.float32)]))
    segment = write(tmp_path_factory.mktemp("large"), documents)
    patch.undo()
    return SegmentView(segment, np.arange(0, 2_000, 5))


# The approximate way, as far as it goes: no segment is so small that it is scanned.
FEW = DocumentCandidates(nuggets=400, documents=60, few=0)


def asked(large: SegmentView, count: int) -> list[np.ndarray]:
    """Like documents of the collection, but for some noise."""
    rng, stored = np.random.default_rng(13), stored_nuggets(large.segment)
    vectors = dequantize(stored.codes, stored.scales)
    queries = [vectors[6 * document : 6 * document + 4] for document in rng.integers(0, 2_000, count)]
    noisy = [query + 0.1 * rng.normal(size=query.shape) for query in queries]
    return [(query / np.linalg.norm(query, axis=1, keepdims=True)).astype(np.float32) for query in noisy]


def test_candidates_hold_nearly_all_of_the_best_with_exact_figures(large: SegmentView) -> None:
    snapshot, queries = Snapshot(1, RECIPE, [large]), asked(large, 40)
    assert len(stored_nuggets(large.segment).index)
    exact = NuggetScan().search(snapshot, queries, Selection())
    found = FEW.search(snapshot, queries, Selection())
    same = [set(figures(a)) & set(figures(b)) for a, b in zip(exact, found, strict=True)]
    assert sum(map(len, same)) / sum(map(len, exact)) > 0.95
    for documents in found:
        assert documents == sorted(documents, key=lambda document: document.order)


def test_candidates_do_not_look_at_everything(large: SegmentView) -> None:
    """Else the test above would say nothing."""
    snapshot, queries = Snapshot(1, RECIPE, [large]), asked(large, 1)
    everything = NuggetScan().search(snapshot, queries, Selection(2_000))[0]
    assert len(everything) == 1_600
    scores = FEW._scores(indexer.nuggets.scan.allowed_nuggets(large, Filter()), queries, Selection(1))
    assert 0 < (scores > -np.inf).sum() <= 60


def test_the_dead_and_the_filtered_are_never_found_and_take_nobodys_place(large: SegmentView) -> None:
    snapshot = Snapshot(1, RECIPE, [large])
    stored = stored_nuggets(large.segment)
    query = dequantize(stored.codes[:4], stored.scales[:4])  # of document 0, which is dead
    (found,) = FEW.search(snapshot, [query], Selection(5, filter=Filter({"even": False})))
    assert len(found) == 5
    assert all(int(document.document_id) % 2 and int(document.document_id) % 5 for document in found)
    assert figures(DocumentCandidates().search(snapshot, [query], Selection(5))[0]) == figures(
        NuggetScan().search(snapshot, [query], Selection(5))[0]
    )


def test_an_index_is_written_where_nuggets_are_many_and_read_only_unharmed(large: SegmentView, folder: Path) -> None:
    few = write(folder, [("0", [directions(np.random.default_rng(1), 30)])])
    assert INDEX not in few.manifest.files
    assert INDEX in large.segment.manifest.files
    path = large.segment.folder / INDEX
    body = path.read_bytes()
    harmed = Segment(large.segment.folder, _sha(large.segment))
    path.write_bytes(body[:-9] + bytes([body[-9] ^ 1]) + body[-8:])
    try:
        with pytest.raises(SegmentCorrupt, match="not the file that was published"):
            FEW.search(Snapshot(1, RECIPE, [_all(harmed)]), asked(large, 1), Selection())
    finally:
        path.write_bytes(body)


def _sha(segment: Segment) -> str:
    import hashlib

    return hashlib.sha256((segment.folder / layout.MANIFEST).read_bytes()).hexdigest()
