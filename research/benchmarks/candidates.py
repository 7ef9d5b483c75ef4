"""Ways to find candidates, side by side: how many of the exact best spans lie where each says to look.

    python -m research.benchmarks.candidates --case WORK/case-1000000 [--ways all] [--queries 500] [--threads 2]
        [--json] [--results EARLIER.json] [--plot FILE.svg]

The case is one that ``spanseek bench --work WORK`` has made, of one segment. Ways are built with so many threads, and
asked one query at a time with one. ``--results`` adds what an earlier run printed with ``--json``.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import faiss
import numpy as np
from jaxtyping import Float32, Int
from rich.box import SIMPLE
from rich.table import Table

from app.cli.console import err, out, print_json
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from models.errors import InvalidInput, SpanseekError
from research.benchmarks.case import Case
from research.benchmarks.engines.scan import open_segments
from research.benchmarks.plots import save_fronts
from research.benchmarks.report import Result, read_results
from research.benchmarks.rows import percentile
from research.benchmarks.ways import Finder, Setting, Way, ways

# Asked first and not counted: what is compiled or read at first use is no part of a latency.
_WARM_UP = 3


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One way at one setting; times are of choosing the blocks, not of scanning them.

    ``found`` is the share of the exact ten best spans that lie in the chosen blocks, and ``blocks`` how many blocks
    were chosen, on average, of ``of_blocks``.
    """

    way: str
    units: int
    visited: int
    taken: int
    found: float
    p50_ms: float
    p99_ms: float
    blocks: float
    of_blocks: int
    bytes_per_unit: float
    build_s: float
    queries: int
    what: str


def share_found(spans: Int[np.ndarray, "k 2"], blocks: Int[np.ndarray, " blocks"]) -> float:
    """The share of exact spans that start in the blocks; a start of -1 stands for no span.

    >>> share_found(np.array([[3, 5], [300, 301], [-1, -1]]), np.array([1]))
    0.5
    """
    starts = spans[spans[:, 0] >= 0, 0]
    return float(np.isin(starts // BLOCK, blocks).mean()) if len(starts) else 1.0


def measure(case: Case, wanted: Sequence[Way], queries: int, threads: int) -> Iterator[CandidateRow]:
    """A row for every setting of every way. Raises ``InvalidInput`` for a case of several segments."""
    segment = only_segment(case)
    for way in wanted:
        faiss.omp_set_num_threads(threads)
        started = time.perf_counter()
        finder = way.build(segment)
        build_s = time.perf_counter() - started
        faiss.omp_set_num_threads(1)
        for setting in way.settings:
            yield _row(case, way, setting, finder, build_s, queries)


def only_segment(case: Case) -> Segment:
    """The segment of a case that has one."""
    segments = open_segments(case.folder)
    if len(segments) > 1:
        raise InvalidInput(
            f"The case has {len(segments)} segments; ways are compared on one.",
            hint="Prepare it with `spanseek bench` without --segment-units.",
            field="case",
        )
    return segments[0]


def _row(case: Case, way: Way, setting: Setting, finder: Finder, build_s: float, queries: int) -> CandidateRow:
    vectors = case.queries.vectors[:queries]
    for query in vectors[:_WARM_UP]:
        finder.blocks(query, setting)
    asked = [_timed(finder, query, setting) for query in vectors]
    times, chosen = [ms for ms, _ in asked], [blocks for _, blocks in asked]
    return CandidateRow(
        way=way.name,
        units=case.info.units,
        visited=setting.visited,
        taken=setting.taken,
        found=round(fmean(map(share_found, case.exact_spans[:queries], chosen)), 4),
        p50_ms=percentile(times, 50),
        p99_ms=percentile(times, 99),
        blocks=round(fmean(map(len, chosen)), 1),
        of_blocks=-(-case.info.units // BLOCK),
        bytes_per_unit=round(finder.nbytes / case.info.units, 1),
        build_s=round(build_s, 2),
        queries=len(vectors),
        what=way.what,
    )


def _timed(
    finder: Finder, query: Float32[np.ndarray, " dim"], setting: Setting
) -> tuple[float, Int[np.ndarray, " blocks"]]:
    started = time.perf_counter()
    blocks = finder.blocks(query, setting)
    return (time.perf_counter() - started) * 1000, blocks


# A heading, and how a row is written under it.
_COLUMNS = (
    ("way", "{way}"),
    ("visited", "{visited:,}"),
    ("taken", "{taken:,}"),
    ("found", "{found:.3f}"),
    ("p50 ms", "{p50_ms:.2f}"),
    ("p99 ms", "{p99_ms:.2f}"),
    ("blocks", "{blocks:,.0f}"),
    ("B/unit", "{bytes_per_unit:.1f}"),
    ("build s", "{build_s:.1f}"),
)


def as_table(rows: Sequence[Result]) -> Table:
    """A table for the terminal, a row for every setting of every way."""
    table = Table(*(heading for heading, _ in _COLUMNS), box=SIMPLE, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*(form.format(**row) for _, form in _COLUMNS))
    return table


def run(case: Path, names: str, queries: int, threads: int) -> list[Result]:
    """Measure, saying on the way what has been measured."""
    rows = []
    for row in measure(Case(case), ways(names), queries, threads):
        err.print(f"{row.way}, {row.visited}, {row.taken}: {row.found} in {row.p50_ms} ms", markup=False)
        rows.append(asdict(row))
    return rows


def main() -> None:
    """Measure, and show it as asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", type=Path, required=True)
    parser.add_argument("--ways", default="all", help="names separated by commas")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2, help="threads to build with")
    parser.add_argument("--results", type=Path, action="append", default=[])
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        earlier = [row for path in given.results for row in read_results(path)]
        rows = run(given.case, given.ways, given.queries, given.threads)
    except SpanseekError as error:
        raise SystemExit(f"Error: {error}\n{error.hint}") from error
    if given.plot:
        save_fronts(given.plot, earlier + rows)
    if given.json:
        print_json(rows)
    else:
        out.print(as_table(earlier + rows))


if __name__ == "__main__":
    main()
