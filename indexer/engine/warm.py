"""Compiling kernels before anybody waits for them."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from indexer.engine.base import Engine
from indexer.engine.exhaustive_count import count_spans
from indexer.engine.multi_query import QueryBatch, spans_over_floors
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.engine.wholes import search_wholes
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Recipe
from models.ops.span_score import SpanScore
from models.types import Document, Part

_RECIPE = Recipe("none", "none", dim=2)


def warm_up(engine: Engine) -> None:
    """Search, count and match in a tiny segment: what numba has not compiled yet here takes it many seconds once."""
    with TemporaryDirectory(prefix="spanseek-") as folder:
        view = SegmentView(_tiny_segment(Path(folder) / "tiny"), np.zeros(0, np.int64))
        snapshot = Snapshot(1, _RECIPE, [view])
        for queries in (1, 16):
            engine.search(snapshot, np.ones((queries, 2), np.float32), Selection(top_k=1))
        count_spans(snapshot, np.ones(2, np.float32), 0.0)
        score = SpanScore(0.1, whole_share=0.5)
        for boundary in ("clause", "sentence"):
            selection = Selection(top_k=1, boundary=boundary)
            search_wholes(snapshot, np.ones((1, 2), np.float32), selection, score, np.ones(1, np.int64))
        list(spans_over_floors(view, QueryBatch(np.ones((1, 2), np.float32)), np.zeros(1), [Filter()]))


def _tiny_segment(folder: Path) -> Segment:
    with SegmentWriter(folder, _RECIPE) as writer:
        writer.add_document(Document("a", (Part("a b"),)), "", [PartUnits(np.array([[0, 1], [2, 3]]), 0)])
        writer.add_vectors(np.eye(2, dtype=np.float32))
        return Segment(folder, writer.finish().manifest_sha256)
