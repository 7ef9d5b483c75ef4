"""Benchmark of the time that mining saves: all spans over a threshold of many phrases, together and one by one.

Units are random vectors, in documents of a hundred. A phrase is near a sum of three units that stand beside each other,
so that it has a hit or two. ``ratio`` is the time of exporting all phrases one by one, estimated from some of them,
over that of mining all. Both find the same rows, which is checked. Encoding phrases and reading texts, of which mining
has as much as exports, are left out. Times are those of processors, which other load changes little.

    python -m research.benchmarks.mining --units 1000000 --phrases 1000
"""

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from app.encoders.encoders import Encoders
from app.search import literal
from app.search.literal import RankedRows
from app.search.modes.best_span import BestSpan
from app.search.span_queries import SpanQuery
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Generation, Recipe
from models.ops.similarity import normalize
from models.ops.span_score import COSINE
from models.types import Document, Part, SpanBounds
from research.benchmarks.http_latency import print_figures

_DIM = 384
_OF_DOCUMENT = 100
_BATCH = 1_024
_FLOOR = 0.6
_RECIPE = Recipe("none", "none", _DIM, SpanBounds(1, 20))


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds of processors, rows, and MiB."""

    units: int
    phrases: int
    hits: int
    mining_s: float
    one_by_one_s: float
    ratio: float
    index_mb: float
    peak_growth_mb: float


def measure(units: int, phrases: int, sampled: int, folder: Path) -> Figures:
    """Write a segment of random units, mine all phrases, and search some of them one by one."""
    segment = _written(folder, units // _OF_DOCUMENT)
    snapshot = Snapshot(Generation(1, (), _RECIPE), [SegmentView(segment, np.zeros(0, np.int64))])
    mode, queries = BestSpan(Encoders.of({})), _queries(segment, phrases)
    selection = Selection(top_k=10_001, floor=_FLOOR)

    def found(some: Sequence[SpanQuery], *, exhaustive: bool) -> list[RankedRows]:
        return literal.search(snapshot, mode, some, [()] * len(some), selection, exhaustive=exhaustive)

    found(queries[:16], exhaustive=True), found(queries[:1], exhaustive=False)  # compile
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    mined = [
        each for begin in range(0, phrases, _BATCH) for each in found(queries[begin : begin + _BATCH], exhaustive=True)
    ]
    mining_s = time.process_time() - started
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    started = time.process_time()
    single = [found([query], exhaustive=False)[0] for query in queries[:sampled]]
    one_by_one_s = (time.process_time() - started) * phrases / sampled
    if [each.rows for each in single] != [each.rows for each in mined[:sampled]]:
        raise AssertionError("mining finds other rows than searches")
    return Figures(
        units=units,
        phrases=phrases,
        hits=sum(map(len, mined)),
        mining_s=round(mining_s, 2),
        one_by_one_s=round(one_by_one_s, 2),
        ratio=round(one_by_one_s / mining_s, 2),
        index_mb=round(segment.manifest.units * _DIM / 2**20, 1),
        peak_growth_mb=round(grown / 1024, 1),
    )


def _queries(segment: Segment, count: int) -> list[SpanQuery]:
    rng = np.random.default_rng(1)
    starts = rng.integers(0, segment.manifest.units - 3, count)
    sums = sum(segment.vectors[starts + step].astype(np.float32) for step in range(3))
    noise = rng.normal(size=(count, _DIM)) * np.linalg.norm(sums, axis=1, keepdims=True) / np.sqrt(_DIM)
    return [SpanQuery(vector, 0, 1, COSINE) for vector in normalize(sums + 0.8 * noise).astype(np.float32)]


def _written(folder: Path, documents: int) -> Segment:
    rng = np.random.default_rng(0)
    spans = np.arange(2 * _OF_DOCUMENT).reshape(-1, 2)
    with SegmentWriter(folder / "segment", _RECIPE) as writer:
        for number in range(documents):
            writer.add_document(Document(f"d{number}", (Part("x " * _OF_DOCUMENT),)), "", [PartUnits(spans, 0)])
            writer.add_vectors(rng.normal(size=(_OF_DOCUMENT, _DIM)).astype(np.float32), {})
        return Segment(folder / "segment", writer.finish().manifest_sha256)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--phrases", type=int, default=1_000)
    parser.add_argument("--sampled", type=int, default=50, help="Phrases that are searched one by one.")
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        print_figures(measure(given.units, given.phrases, given.sampled, Path(folder)), as_json=False)


if __name__ == "__main__":
    main()
