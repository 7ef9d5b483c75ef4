"""The executor that looks where candidates are: what it returns is exact, and nearly always the best there is."""

from pathlib import Path

import numpy as np
import pytest

from indexer.ann.candidates import CandidateExecutor, NearSpans
from indexer.ann.windows import write_windows
from indexer.arrays import SpanTerms
from indexer.engine.executor import Executor
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Filter, Selection
from indexer.engine.scan import CodedQueries, SegmentScan, SpanScan, read_segment
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import Allowed, SegmentView
from indexer.segments.merge import Source, merge
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Generation, Recipe
from models.ops.span_score import SpanScore
from models.types import Document, Part
from tests.executors import found_by
from tests.unit.indexer.test_windows import segment, vectors_of

DIM = 16
UNITS = 12_000
# Few windows, and no segment so small that it is scanned: the approximate way, as far as it goes.
FEW = CandidateExecutor(windows=9, few_blocks=0)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A segment with windows, and one without."""
    large = segment(tmp_path_factory.mktemp("large"), vectors_of(UNITS), [30] * (UNITS // 30))
    small = segment(tmp_path_factory.mktemp("small"), vectors_of(60, seed=1), [60])
    assert len(large.windows)
    assert not len(small.windows)
    return Snapshot(Generation(1, (), Recipe("none", "none", DIM)), [view(large), view(small)])


def view(made: Segment, *dead: int) -> SegmentView:
    return SegmentView(made, np.array(dead, np.int64))


def queries(count: int) -> np.ndarray:
    """Like spans of the texts, but for some noise."""
    rng, vectors = np.random.default_rng(7), vectors_of(UNITS)
    starts = rng.integers(0, UNITS - 8, count)
    spans = np.stack([vectors[start : start + 8].mean(axis=0) for start in starts])
    spans += 0.2 * rng.normal(size=spans.shape)
    return (spans / np.linalg.norm(spans, axis=1, keepdims=True)).astype(np.float32)


def blocks_read(snapshot: Snapshot, asked: np.ndarray) -> list[list[int]]:
    """By segment, the numbers of blocks that the search for every query reads."""
    read: dict[str, list[int]] = {view.name: [] for view in snapshot.views}

    def reading(view: SegmentView, allowed: Allowed, coded: CodedQueries) -> SegmentScan:
        read[view.name].append(len(allowed.blocks))
        return read_segment(view, allowed, coded)

    selection = Selection(top_k=1)
    near = FEW.near(snapshot, SpanScan(asked, read=reading), selection)
    assert isinstance(near, NearSpans)
    snapshot.map(near, selection)
    return list(read.values())


def figures(hits: list[ScoredSpan]) -> dict[tuple[str, int, int], float]:
    return {(hit.document_id, hit.span.start, hit.span.end): hit.cosine for hit in hits}


@pytest.mark.slow("trains FAISS indexes of many vectors")
def test_nearly_all_of_the_best_spans_are_found_with_the_scans_figures(snapshot: Snapshot) -> None:
    asked = queries(40)
    terms = SpanTerms.of(SpanScore(0.15, end=(-0.1, 0, 0, 0, 0, 0)), np.arange(40) % 12)
    exact = found_by(Executor(), snapshot, asked, Selection(), terms)
    found = found_by(FEW, snapshot, asked, Selection(), terms)
    same = [figures(a).items() & figures(b).items() for a, b in zip(exact, found, strict=True)]
    assert sum(map(len, same)) / sum(map(len, exact)) > 0.95
    for hits in found:
        assert hits == sorted(hits, key=lambda hit: hit.order)
        taken = {(hit.document_id, unit) for hit in hits for unit in range(hit.units.start, hit.units.end)}
        assert len(taken) == sum(hit.units.end - hit.units.start for hit in hits)


@pytest.mark.slow("trains FAISS indexes of many vectors")
def test_not_everything_is_read(snapshot: Snapshot) -> None:
    """Else the test above would say nothing."""
    asked = queries(40)
    everything = Selection(top_k=UNITS)
    exact = found_by(Executor(), snapshot, asked[:1], everything)[0]
    large, small = blocks_read(snapshot, asked)
    assert all(0 < blocks < UNITS // 256 for blocks in large)
    assert small == [1] * 40
    # More spans than there are windows: everything is read, and nothing is missed.
    assert found_by(FEW, snapshot, asked[:1], everything)[0] == exact


@pytest.mark.slow("trains FAISS indexes of many vectors")
def test_windows_of_several_segments_compete(tmp_path: Path) -> None:
    """Texts of two segments have nothing in common: of the one that a query is not like, hardly a block is read."""
    parts, halves = [30] * (UNITS // 30), np.arange(DIM) < DIM // 2
    ours, theirs = (np.where(half, vectors_of(UNITS), 0).astype(np.float32) for half in (halves, ~halves))
    segments = [segment(tmp_path / name, vectors, parts) for name, vectors in (("a", ours), ("b", theirs))]
    both = Snapshot(Generation(1, (), Recipe("none", "none", DIM)), list(map(view, segments)))
    close, far = blocks_read(both, np.where(halves, queries(20), 0).astype(np.float32))
    assert sum(far) < 0.1 * sum(close)


def test_small_segments_and_narrow_filters_are_scanned(snapshot: Snapshot) -> None:
    asked = queries(5)
    careful = CandidateExecutor(windows=1)
    assert found_by(careful, snapshot, asked, Selection()) == found_by(Executor(), snapshot, asked, Selection())


def test_the_dead_and_the_filtered_are_never_found(tmp_path: Path) -> None:
    recipe, documents = Recipe("none", "none", DIM), 200
    vectors = vectors_of(documents * 30)
    large = large_of_documents(tmp_path, recipe, documents, vectors)
    snapshot = Snapshot(Generation(1, (), recipe), [view(large, *range(0, documents, 4))])
    wanted = Selection(top_k=5, filter=Filter({"odd": True}))
    query = vectors[60:68].sum(axis=0)  # of document 2, which is even
    (found,) = found_by(FEW, snapshot, (query / np.linalg.norm(query))[None], wanted)
    assert len(found) == 5
    assert all(int(hit.document_id) % 2 for hit in found)
    (alive,) = found_by(FEW, snapshot, (query / np.linalg.norm(query))[None], Selection(top_k=5))
    assert alive[0].document_id == "002"
    assert all(int(hit.document_id) % 4 for hit in alive)


def large_of_documents(folder: Path, recipe: Recipe, documents: int, vectors: np.ndarray) -> Segment:

    units = np.stack([np.arange(30) * 2, np.arange(30) * 2 + 1], axis=1)
    with SegmentWriter(folder / "plain", recipe) as writer:
        for number in range(documents):
            document = Document(f"{number:03d}", (Part(" ".join("x" * 30)),), {"odd": bool(number % 2)})
            writer.add_document(document, "", [PartUnits(units, 0)])
            writer.add_vectors(vectors[number * 30 : number * 30 + 30])
        plain = Segment(folder / "plain", writer.finish().manifest_sha256)
    source = Source(plain, np.ones(documents, bool))
    info, _ = merge(folder / "large", recipe, [source], [write_windows])
    return Segment(folder / "large", info.manifest_sha256)
