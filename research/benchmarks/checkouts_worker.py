"""One checkout's side of ``research.benchmarks.checkouts``: answers queries from its input. Runs from 0.2.0 on."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from indexer.arrays import SpanTerms
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from models.ops.span_score import SpanScore

_SCORE = SpanScore(0.15, (-0.06, -0.03, 0, 0, 0, 0), (-0.05, -0.02, 0, 0, 0, 0), -0.1)
Vectors = Float32[np.ndarray, "queries dim"]


def queries_near(view: SegmentView, count: int, rng: np.random.Generator) -> Vectors:
    """Queries near spans of five units."""
    segment = view.segment
    starts = rng.integers(0, len(segment.scales) - 6, count)
    near = [(segment.vectors[at : at + 5] * segment.scales[at : at + 5, None]).sum(axis=0) for at in starts]
    directions, noise = np.stack(near), rng.normal(size=(count, segment.recipe.dim))
    sums = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    sums += noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)


def searcher(views: list[SegmentView]) -> Callable[[Vectors], list[list[Any]]]:
    """A search of the default engine."""
    recipe = views[0].segment.recipe

    def terms(count: int) -> SpanTerms:
        return SpanTerms.of(_SCORE, np.full(count, 5), np.ones(count, int))

    try:
        from indexer.ann.candidates import CandidateExecutor
    except ImportError:  # 0.2.0
        from indexer.ann.candidates import CandidateEngine  # type: ignore[attr-defined]

        engine, old = CandidateEngine(), Snapshot(1, recipe, views)  # type: ignore[arg-type]
        return lambda vectors: engine.search(old, vectors, Selection(10), terms(len(vectors)))
    from indexer.engine.scan import SpanScan
    from indexer.engine.selection import search
    from indexer.types import Generation

    snapshot = Snapshot(Generation(1, (), recipe), views, executor=CandidateExecutor())

    def new(vectors: Vectors) -> list[list[Any]]:
        found = search(snapshot, SpanScan(vectors, terms(len(vectors))), Selection(10), len(vectors))
        return [[snapshot.scored(row) for row in rows] for rows in found]

    return new


def main(described: Path) -> None:
    """Answer lines of ``QUERIES NUMBER`` by processor time and rows."""
    segments = json.loads(described.read_text())
    views = [SegmentView(Segment(described.parent / name, sha), np.zeros(0, np.int64)) for name, sha in segments]
    rng, search = np.random.default_rng(7), searcher(views)
    batches = {1: [queries_near(views[0], 1, rng) for _ in range(10)]}
    batches[32] = [queries_near(views[0], 32, rng) for _ in range(3)]
    for several in batches.values():
        search(several[0])
    for line in sys.stdin:
        count, number = map(int, line.split())
        vectors = batches[count][number % len(batches[count])]
        begun = time.process_time()
        found = search(vectors)
        seconds = time.process_time() - begun
        rows = [[(hit.document_id, hit.units.start, hit.units.end, hit.cosine) for hit in hits] for hits in found]
        print(json.dumps([seconds, rows]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
