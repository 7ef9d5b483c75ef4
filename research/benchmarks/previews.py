"""Benchmark of counting all documents: its cost beside a search for the best ten spans.

    python -m research.benchmarks.previews --case WORK/case-1000000 [--queries 30] [--floor 0.7] [--json]

The case is one that ``spanseek bench --work WORK`` has made. Each query is searched and counted in turn, so that both
meet the same machine; figures are medians of milliseconds, and of the ratio within a turn.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from indexer.engine.exhaustive_count import SpanCounts
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.types import Generation
from research.benchmarks.engines.scan import open_segments


def milliseconds(work: Callable[[], object]) -> float:
    """Milliseconds that one call of ``work`` takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def measure(case: Path, count: int, floor: float) -> dict[str, float]:
    """Medians over the first queries of a case; ``floor`` is a cosine, over which spans are counted too."""
    segments = open_segments(case)
    snapshot = Snapshot(
        Generation(1, (), segments[0].recipe), [SegmentView(one, np.zeros(0, np.int64)) for one in segments]
    )
    queries, selection = np.load(case / "query_vectors.npy")[: count + 1], Selection()
    turns = [
        (
            milliseconds(partial(search, snapshot, SpanScan(query[None]), selection)),
            milliseconds(partial(snapshot.map, SpanCounts(query, None))),
            milliseconds(partial(snapshot.map, SpanCounts(query, floor))),
        )
        for query in queries
    ][1:]  # the first turn compiles
    searched, counted, with_spans = zip(*turns, strict=True)
    return {
        "units": sum(one.manifest.units for one in segments),
        "search_ms": round(median(searched), 1),
        "preview_ms": round(median(counted), 1),
        "preview_with_spans_ms": round(median(with_spans), 1),
        "ratio": round(median(b / a for a, b, _ in turns), 2),
        "ratio_with_spans": round(median(c / a for a, _, c in turns), 2),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--floor", type=float, default=0.7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.case, options.queries, options.floor)
    print(json.dumps(figures) if options.json else "\n".join(f"{name:24} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
