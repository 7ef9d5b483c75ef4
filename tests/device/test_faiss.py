"""FAISS on a GPU: training leaves nothing behind, and ``faiss_gpu`` finds what the processor finds."""

import gc
from pathlib import Path
from threading import Lock
from weakref import ref

import faiss
import numpy as np
import pytest

import indexer.ann.gpu
import indexer.machine
from indexer.ann.candidates import NearSpans
from indexer.ann.faiss_gpu import FaissGpuExecutor, span_directions
from indexer.ann.gpu import GpuRows, Shards
from indexer.ann.inverted_lists import TEMPORARY_BYTES, empty_index, gpu_resources, train
from indexer.ann.row_index import directions_of, write_row_index
from indexer.ann.windows import open_windows, write_windows
from indexer.engine.executor import Executor, ExecutorOptions
from indexer.engine.query import Filter, Selection
from indexer.engine.scan import SpanScan
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.errors import ExecutorUnavailable
from indexer.segments.merge import Source, merge
from indexer.segments.reader import Segment
from indexer.types import Generation
from models.errors import DeviceUnavailable
from models.ops.quantization import quantize_directions
from models.ops.span_score import SpanScore
from tests.contracts.test_executors import Case, Scoring, collection, terms_of, unit
from tests.device.conftest import Gpu
from tests.device.fake_faiss import FakeFaiss
from tests.executors import found_by

SIZES = [[[70, 300, 5], [640], [1, 2, 90, 30]], [[400, 33], [200]]]
SELECTIONS = [
    Selection(top_k=1),
    Selection(top_k=5),
    Selection(top_k=1000),
    Selection(top_k=5, floor=0.6),
    Selection(top_k=7, group_by="document"),
    Selection(top_k=3, filter=Filter({"colour": "red"})),
]
VECTORS = np.random.default_rng(4).normal(size=(400, 8)).astype(np.float32)


@pytest.fixture
def fake(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> FakeFaiss | None:
    return FakeFaiss(2).install(monkeypatch) if gpu.fake else None


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return collection(tmp_path_factory.mktemp("segments"), (1, 20), SIZES, "random", 5, {1})


@pytest.fixture(scope="module")
def large(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The same documents in one segment with windows."""
    folder, recipe = tmp_path_factory.mktemp("large") / "segment", case.snapshot.recipe
    sources = [Source(view.segment, np.ones(view.segment.manifest.documents, bool)) for view in case.snapshot.views]
    info, _ = merge(folder, recipe, sources, [write_windows])
    return Snapshot(Generation(1, (), recipe), [SegmentView(Segment(folder, info.manifest_sha256), np.zeros(0, int))])


def queries(count: int = 3) -> np.ndarray:
    return unit(np.random.default_rng(9).normal(size=(count, 8)))


def test_training_leaves_nothing_on_the_gpu(fake: FakeFaiss, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer.machine, "_device", "auto")
    index = empty_index(8, 4)
    train(index, VECTORS)
    assert index.is_trained
    assert index.clustering_index is None
    if fake is None:
        return
    ((number, centres),) = fake.made
    assert number == 0
    assert centres.thisown, "nobody frees it"
    assert [each.temporary for each in fake.resources] == [TEMPORARY_BYTES]
    gone = ref(centres)
    fake.made.clear()
    del centres
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("device", "expected"), [("cpu", []), ("auto", [0]), ("cuda", [0]), ("cuda:1", [1]), ("cuda:2", [])]
)
def test_training_uses_the_device_of_the_settings(
    fake: FakeFaiss, gpu: Gpu, device: str, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gpu.played
    monkeypatch.setattr(indexer.machine, "_device", device)
    index = empty_index(8, 4)
    train(index, VECTORS)
    assert index.is_trained
    assert [number for number, _ in fake.made] == expected


def test_a_gpu_that_fails_leaves_training_to_the_processor(
    fake: FakeFaiss, gpu: Gpu, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gpu.played
    monkeypatch.setattr(indexer.machine, "_device", "auto")
    alone = empty_index(8, 4)
    alone.train(VECTORS)
    fake.fails = True
    index = empty_index(8, 4)
    train(index, VECTORS)
    assert faiss.serialize_index(index).tobytes() == faiss.serialize_index(alone).tobytes()
    assert "cudaMalloc" in caplog.text


def same(found: list, expected: list) -> None:
    for some, others in zip(found, expected, strict=True):
        assert [(hit.document_id, hit.units) for hit in some] == [(hit.document_id, hit.units) for hit in others]
        np.testing.assert_allclose([hit.cosine for hit in some], [hit.cosine for hit in others], atol=1e-9)


@pytest.mark.parametrize("most", [2_048, 50])
@pytest.mark.parametrize("scoring", [None, Scoring(SpanScore(0.15, crossing=-0.1), [3, 1, 8], [1, 2, 1])])
def test_hits_are_those_of_the_scan(
    fake: FakeFaiss, gpu: Gpu, case: Case, most: int, scoring: Scoring | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexer.ann.faiss_gpu.MOST", most)
    monkeypatch.setattr(indexer.ann.gpu, "FLAT_ROWS", 5_000)
    monkeypatch.setattr("indexer.ann.faiss_gpu._UNITS_AT_ONCE", 100)
    executor = FaissGpuExecutor(gpu.device)
    for selection in SELECTIONS:
        found = found_by(executor, case.snapshot, queries(), selection, terms_of(scoring))
        same(found, found_by(Executor(), case.snapshot, queries(), selection, terms_of(scoring)))
    assert executor.held_segments == 2
    assert fake is None or len(fake.made) > 2
    executor.close()
    assert not executor.held_segments


def test_what_does_not_fit_is_read_by_the_processor(fake: FakeFaiss, gpu: Gpu, case: Case, caplog) -> None:
    gpu.played.free = 1_000
    executor = FaissGpuExecutor(gpu.device)
    same(
        found_by(executor, case.snapshot, queries(), Selection(top_k=5), None),
        found_by(Executor(), case.snapshot, queries(), Selection(top_k=5), None),
    )
    assert not fake.made
    assert "The processor reads spans" in caplog.text


def test_a_gpu_that_cannot_hold_spans_leaves_them_to_the_processor(fake: FakeFaiss, gpu: Gpu, case: Case) -> None:
    assert gpu.played
    fake.fails = True
    same(
        found_by(FaissGpuExecutor(gpu.device), case.snapshot, queries(), Selection(top_k=5), None),
        found_by(Executor(), case.snapshot, queries(), Selection(top_k=5), None),
    )


def test_a_lost_gpu_is_a_clear_error(fake: FakeFaiss, gpu: Gpu, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.played
    executor = FaissGpuExecutor(gpu.device)
    found_by(executor, case.snapshot, queries(), Selection(), None)

    def lost(*_: object) -> None:
        raise RuntimeError("Error in void faiss::gpu::...\nCUDA error 719 unspecified launch failure")

    for _, index in fake.made:
        monkeypatch.setattr(index, "search", lost)
    with pytest.raises(ExecutorUnavailable, match="CUDA error 719") as refused:
        found_by(executor, case.snapshot, queries(), Selection(), None)
    assert refused.value.hint


def test_windows_are_looked_up_on_the_gpu(fake: FakeFaiss, gpu: Gpu, large: Snapshot) -> None:
    """All lists and nearly all windows: then the blocks that are read hold the best spans."""
    executor = FaissGpuExecutor(gpu.device)
    segment = large.views[0].segment
    windows, by_processor = executor._open_windows(segment), open_windows(segment)
    count = windows.windows - 1
    (starts, cosines), (expected, _) = (each.nearest(queries(), count, 1.0) for each in (windows, by_processor))
    assert starts.shape == cosines.shape == (3, count)
    assert len(np.intersect1d(starts[0], expected[0])) > 0.95 * len(np.unique(expected[0]))
    near = NearSpans(SpanScan(queries()), count, 1.0, 0, open_windows=executor._open_windows)
    found = executor.run(large, near, Selection(top_k=1))
    exact = Executor().run(large, SpanScan(queries()), Selection(top_k=1))
    assert [max(rows.cosines) for rows in found.parts[0]] == pytest.approx(
        [max(rows.cosines) for rows in exact.parts[0]]
    )


def test_more_rows_than_a_gpu_finds_are_looked_up_by_the_processor(
    fake: FakeFaiss, gpu: Gpu, large: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer.ann.gpu, "_WANTED", 10)
    executor, segment = FaissGpuExecutor(gpu.device), large.views[0].segment
    windows = executor._open_windows(segment)
    found, expected = (each.nearest(queries(), 11, 1.0)[0] for each in (windows, open_windows(segment)))
    np.testing.assert_array_equal(found, expected)


def test_nuggets_are_looked_up_on_the_gpu(fake: FakeFaiss, gpu: Gpu, large: Snapshot, tmp_path: Path) -> None:
    codes, scales = quantize_directions(unit(VECTORS))
    write_row_index(tmp_path / "rows.faiss", codes, scales)
    stored = faiss.read_index(str(tmp_path / "rows.faiss"))
    shards = Shards(gpu_resources(), 0, Lock()).add_lists(stored, directions_of(codes, scales))
    nearest = GpuRows(stored, shards).nearest(unit(VECTORS[:50]), 5)
    assert nearest.shape == (50, 5)
    assert (nearest[:, 0] == np.arange(50)).all()


def test_without_a_gpu_it_says_what_to_do(fake: FakeFaiss, gpu: Gpu) -> None:
    assert gpu.played
    for options, count in ((ExecutorOptions("cpu"), 1), (ExecutorOptions("cuda"), 0)):
        fake.count = count
        with pytest.raises(DeviceUnavailable, match="faiss_gpu") as refused:
            FaissGpuExecutor.create(options)
        assert refused.value.hint
    fake.count = 1
    assert FaissGpuExecutor.create(ExecutorOptions("auto")).name == "faiss_gpu"


def test_ids_tell_spans_apart(case: Case) -> None:
    segment = case.snapshot.views[0].segment
    rows = [(ids, vectors) for ids, vectors in span_directions(segment)]
    ids = np.concatenate([ids for ids, _ in rows])
    assert len(np.unique(ids)) == len(ids)
    starts, lengths = ids >> 8, ids & 255
    parts = np.searchsorted(segment.part_units, starts, side="right")
    assert (parts == np.searchsorted(segment.part_units, starts + lengths - 1, side="right")).all()
    assert lengths.min() == 1
    assert lengths.max() == 20
