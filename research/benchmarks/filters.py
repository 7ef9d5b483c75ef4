"""Benchmark of filter expressions: one search of all units, one of the hundredth that passes, one of a single document.

Units are random vectors, in documents of a hundred, with a number, a date and a list each. Searches alternate in one
run; ``ratio`` is that of the medians. ``first_ms`` is a search with a filter that no other had before: it reads and
types the metadata. Times are those of processors, which other load changes little.

    python -m research.benchmarks.filters --units 1000000
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from indexer.engine.query import Filter, Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.filters.strings import parsed
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Generation, Recipe
from models.types import Document, Metadata, Part, SpanBounds
from research.benchmarks.http_latency import print_figures

_DIM = 384
_OF_DOCUMENT = 100
_RECIPE = Recipe("none", "none", _DIM, SpanBounds(1, 20))


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds of processors, medians but for the first ones."""

    units: int
    documents: int
    unfiltered_ms: float
    hundredth_ms: float
    ratio: float
    hundredth_first_ms: float
    document_ms: float
    document_first_ms: float


def measure(units: int, folder: Path, repeats: int) -> Figures:
    """Write a segment of random units and search it."""
    view = SegmentView(_written(folder, units // _OF_DOCUMENT), np.zeros(0, np.int64))
    snapshot = Snapshot(Generation(1, (), _RECIPE), [view])
    rng = np.random.default_rng(1)
    _timed(snapshot, rng, Filter())  # compiles
    hundredth = Filter(expression=parsed('share >= 0.99 and day >= 2025-01-01 and not tags contains "z"'))
    document = Filter(expression=parsed('document.id = "d77"'))
    firsts = [_timed(snapshot, rng, filter) for filter in (hundredth, document)]
    times = [[_timed(snapshot, rng, filter) for filter in (Filter(), hundredth, document)] for _ in range(repeats)]
    whole, part, one = (median(column) for column in zip(*times, strict=True))
    return Figures(
        units=units,
        documents=units // _OF_DOCUMENT,
        unfiltered_ms=round(whole, 2),
        hundredth_ms=round(part, 2),
        ratio=round(part / whole, 3),
        hundredth_first_ms=round(firsts[0], 2),
        document_ms=round(one, 2),
        document_first_ms=round(firsts[1], 2),
    )


def _timed(snapshot: Snapshot, rng: np.random.Generator, filter: Filter) -> float:
    vector = rng.normal(size=(1, _DIM))
    query = (vector / np.linalg.norm(vector)).astype(np.float32)
    started = time.process_time()
    search(snapshot, SpanScan(query), Selection(top_k=10, filter=filter))
    return 1000 * (time.process_time() - started)


def _written(folder: Path, documents: int) -> Segment:
    """A segment of documents of random units."""
    rng = np.random.default_rng(0)
    spans = np.arange(2 * _OF_DOCUMENT).reshape(-1, 2)
    with SegmentWriter(folder / "segment", _RECIPE) as writer:
        for number in range(documents):
            day = f"2025-{1 + number % 12:02d}-{1 + number % 28:02d}T{number % 24:02d}:00:00Z"
            metadata: Metadata = {"share": float(rng.random()), "day": day, "tags": ["a", "b", number % 7]}
            document = Document(f"d{number}", (Part("x " * _OF_DOCUMENT),), metadata)
            writer.add_document(document, "", [PartUnits(spans, 0)])
            writer.add_vectors(rng.normal(size=(_OF_DOCUMENT, _DIM)).astype(np.float32), {})
        return Segment(folder / "segment", writer.finish().manifest_sha256)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        print_figures(measure(given.units, Path(folder), given.repeats), as_json=False)


if __name__ == "__main__":
    main()
