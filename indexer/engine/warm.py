"""Compiling kernels before anybody waits for them."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from indexer.engine.executor import Executor
from indexer.engine.exhaustive_count import SpanCounts
from indexer.engine.multi_query import QueryBatch, spans_over_floors
from indexer.engine.query import Filter, Selection
from indexer.engine.scan import SpanScan
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.engine.whole_spans import WholeSpans
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Generation, Recipe
from models.ops.span_score import SpanScore
from models.types import Document, Part

_RECIPE = Recipe("none", "none", dim=2)


def warm_up(executor: Executor) -> None:
    """Search, count and match in a tiny segment: what numba has not compiled yet here takes it many seconds once.

    Where segments are read elsewhere, this process reads texts that come with requests by the same kernels.
    """
    executor = executor if executor.reads_here else Executor()
    with TemporaryDirectory(prefix="spanseek-") as folder:
        view = SegmentView(_tiny_segment(Path(folder) / "tiny"), np.zeros(0, np.int64))
        snapshot = Snapshot(Generation(1, (), _RECIPE), [view], executor=executor)
        for queries in (1, 16):
            snapshot.map(SpanScan(np.ones((queries, 2), np.float32)), Selection(top_k=1))
        snapshot.map(SpanCounts(np.ones(2, np.float32), 0.0))
        score = SpanScore(0.1, whole_share=0.5)
        for boundary in ("clause", "sentence"):
            whole_spans = WholeSpans(np.ones((1, 2), np.float32), score, np.ones(1, np.int64))
            snapshot.map(whole_spans, Selection(top_k=1, boundary=boundary))
        list(spans_over_floors(view, QueryBatch(np.ones((1, 2), np.float32)), np.zeros(1), [Filter()]))


def _tiny_segment(folder: Path) -> Segment:
    with SegmentWriter(folder, _RECIPE) as writer:
        writer.add_document(Document("a", (Part("a b"),)), "", [PartUnits(np.array([[0, 1], [2, 3]]), 0)])
        writer.add_vectors(np.eye(2, dtype=np.float32))
        return Segment(folder, writer.finish().manifest_sha256)
