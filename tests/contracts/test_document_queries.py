"""Every executor answers mode maxsim as loops over all stored nuggets do."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indexer.nuggets.files
from indexer.ann.candidates import CandidateExecutor
from indexer.engine.executor import Executor
from indexer.engine.query import Filter, Selection
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.errors import SegmentCorrupt
from indexer.nuggets.files import INDEX
from indexer.nuggets.queries import NuggetCandidates, NuggetCounts, NuggetScan
from indexer.nuggets.recipe import NuggetRecipe, with_nuggets
from indexer.nuggets.representation import stored_nuggets
from indexer.nuggets.rows import NuggetRows
from indexer.nuggets.scan import allowed_nuggets
from indexer.segments import layout
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Generation, Recipe
from models.ops.quantization import dequantize
from models.types import Document, Part
from tests import reference
from tests.examples import examples
from tests.executors import ON_CLUSTER, ProcessExecutor
from tests.reference import RefNuggets

DIM = 32
RECIPE = with_nuggets(Recipe("none", "none", 4), NuggetRecipe("none", DIM, 0.5))
_number = count()
EXECUTORS = [Executor(), CandidateExecutor(), ProcessExecutor()]
EVERYWHERE = [*EXECUTORS, *ON_CLUSTER]
BY_DOCUMENT = Selection(group_by="document")

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
    return Snapshot(Generation(1, (), RECIPE), views)


Figures = list[tuple[float, str]]


def found_by(snapshot: Snapshot, query: NuggetScan | NuggetCounts, selection: Selection = BY_DOCUMENT) -> list[Figures]:
    """For every query the scores and ids of its best documents."""
    requests = len(query.queries) if isinstance(query, NuggetScan) else 1
    found = search(snapshot, query, replace(selection, group_by="document"), requests)
    return [[(row.cosine, snapshot.document_id(row)) for row in rows] for rows in found]


@settings(max_examples=examples(25))
@given(
    st.lists(drawn_documents, max_size=3),
    st.lists(st.integers(1, 70), min_size=1, max_size=3),
    st.integers(0, 99),
    st.sampled_from([1, 2, 100]),
    st.sampled_from([None, -1.0, 0.2, 0.5]),
    st.sampled_from([Filter(), Filter({"even": True}), Filter(part={"n": 1}), Filter({"even": False}, {"n": 0})]),
)
def test_executors_answer_what_loops_answer(folder: Path, segments, sizes, seed, top_k, floor, wanted) -> None:
    snapshot = snapshot_of(folder, segments, seed)
    queries = [directions(np.random.default_rng(seed + size), size) for size in sizes]
    documents = [document for view in snapshot.views for document in known(view)]
    for executor in EXECUTORS:
        answers = found_by(snapshot.read_by(executor), NuggetScan(queries), Selection(top_k, floor, "document", wanted))
        for query, found in zip(queries, answers, strict=True):
            expected = reference.document_hits(
                documents, query, top_k=top_k, floor=floor, document_filter=wanted.document, part_filter=wanted.part
            )
            assert [id for _, id in found] == [id for _, id in expected]
            assert [cosine for cosine, _ in found] == pytest.approx([each for each, _ in expected], abs=1e-6)


@pytest.mark.parametrize("executor", EVERYWHERE, ids=lambda executor: executor.name)
def test_equals_are_in_the_order_of_their_ids_whatever_segment_they_are_in(executor: Executor, folder: Path) -> None:
    same = directions(np.random.default_rng(1), 3)
    segments = [write(folder, [(id, [same])]) for id in ("2", "0")] + [write(folder, [("3", [same]), ("1", [same])])]
    snapshot = Snapshot(Generation(1, (), RECIPE), [SegmentView(each, np.zeros(0, np.int64)) for each in segments])
    for top_k in (2, 4):
        query = NuggetScan([directions(np.random.default_rng(2), 5)])
        (found,) = found_by(snapshot.read_by(executor), query, Selection(top_k))
        assert [id for _, id in found] == ["0", "1", "2", "3"][:top_k]
        assert len({cosine for cosine, _ in found}) == 1


def test_a_figure_does_not_depend_on_what_else_is_asked_or_stored(folder: Path) -> None:
    rng = np.random.default_rng(3)
    alone = write(folder, [("1", [directions(rng, 9)])])
    vectors = dequantize(stored_nuggets(alone).codes, stored_nuggets(alone).scales)
    among = write(folder, [("0", [directions(rng, 5)]), ("1", [vectors]), ("2", [directions(rng, 7)])])
    queries = [directions(rng, size) for size in (3, 1, 80)]
    for number, query in enumerate(queries):
        ((one,),) = found_by(Snapshot(Generation(1, (), RECIPE), [_all(alone)]), NuggetScan([query]))
        both = Snapshot(Generation(1, (), RECIPE), [_all(among), _all(alone)])
        many = snapshot_rows(both, NuggetScan(queries))[number]
        assert [cosine for cosine, id in many if id == "1"] == [one[0]] * 2


def snapshot_rows(snapshot: Snapshot, query: NuggetScan) -> list[Figures]:
    """The same without grouping: of a document that two segments hold, both."""
    parts = snapshot.map(query, BY_DOCUMENT).parts
    return [
        [(row.cosine, snapshot.document_id(row)) for rows in of_query for row in map(rows.row, range(len(rows)))]
        for of_query in zip(*parts, strict=True)
    ]


def _all(segment: Segment) -> SegmentView:
    return SegmentView(segment, np.zeros(0, np.int64))


def test_counts_have_what_a_search_without_a_limit_finds(folder: Path) -> None:
    snapshot = snapshot_of(folder, [[([3, 2], False), ([], False), ([1], True)], [([4], False)]], seed=5)
    query = directions(np.random.default_rng(6), 4)
    for wanted in (Filter(), Filter(part={"n": 0})):
        (found,) = found_by(snapshot, NuggetScan([query]), Selection(100, filter=wanted))
        counted = found_by(snapshot, NuggetCounts(query), Selection(100, filter=wanted))
        assert counted == [found]


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
FEW = {"nuggets": 400, "documents": 60, "few": 0}


def asked(large: SegmentView, count: int) -> list[np.ndarray]:
    """Like documents of the collection, but for some noise."""
    rng, stored = np.random.default_rng(13), stored_nuggets(large.segment)
    vectors = dequantize(stored.codes, stored.scales)
    queries = [vectors[6 * document : 6 * document + 4] for document in rng.integers(0, 2_000, count)]
    noisy = [query + 0.1 * rng.normal(size=query.shape) for query in queries]
    return [(query / np.linalg.norm(query, axis=1, keepdims=True)).astype(np.float32) for query in noisy]


def test_candidates_hold_nearly_all_of_the_best_with_exact_figures(large: SegmentView) -> None:
    snapshot, queries = Snapshot(Generation(1, (), RECIPE), [large]), asked(large, 40)
    assert len(stored_nuggets(large.segment).index)
    exact = found_by(snapshot, NuggetScan(queries))
    found = found_by(snapshot, NuggetCandidates(queries, **FEW))
    same = [set(a) & set(b) for a, b in zip(exact, found, strict=True)]
    assert sum(map(len, same)) / sum(map(len, exact)) > 0.95
    for documents in found:
        assert documents == sorted(documents, key=lambda document: (-document[0], document[1]))


def test_candidates_do_not_look_at_everything(large: SegmentView) -> None:
    """Else the test above would say nothing."""
    snapshot, queries = Snapshot(Generation(1, (), RECIPE), [large]), asked(large, 1)
    everything = found_by(snapshot, NuggetScan(queries), Selection(2_000))[0]
    assert len(everything) == 1_600
    scores = NuggetCandidates(queries, **FEW).scores(allowed_nuggets(large, Filter()), Selection(1))
    assert 0 < (scores > -np.inf).sum() <= 60


def test_the_dead_and_the_filtered_are_never_found_and_take_nobodys_place(large: SegmentView) -> None:
    snapshot = Snapshot(Generation(1, (), RECIPE), [large])
    stored = stored_nuggets(large.segment)
    query = dequantize(stored.codes[:4], stored.scales[:4])  # of document 0, which is dead
    (found,) = found_by(snapshot, NuggetCandidates([query], **FEW), Selection(5, filter=Filter({"even": False})))
    assert len(found) == 5
    assert all(int(id) % 2 and int(id) % 5 for _, id in found)
    careful, exact = (found_by(snapshot, kind([query]), Selection(5)) for kind in (NuggetCandidates, NuggetScan))
    assert careful == exact


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
            found_by(Snapshot(Generation(1, (), RECIPE), [_all(harmed)]), NuggetCandidates(asked(large, 1), **FEW))
    finally:
        path.write_bytes(body)


def _sha(segment: Segment) -> str:
    import hashlib

    return hashlib.sha256((segment.folder / layout.MANIFEST).read_bytes()).hexdigest()
