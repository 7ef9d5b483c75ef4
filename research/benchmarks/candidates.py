"""Candidate indexes side by side: the share of the exact best spans that lie in the blocks each selects.

    python -m research.benchmarks.candidates --case WORK/case-1000000 [--indexes all] [--queries 500] [--threads 2]
        [--json] [--results EARLIER.json] [--plot FILE.svg]

The case is one that ``spanseek bench --work WORK`` has made, of one segment. Indexes are built with the given number of
threads and searched one query at a time with one. ``--results`` adds the ``--json`` output of an earlier run.
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
from research.benchmarks.candidate_indexes import BlockIndex, CandidateIndex, Setting, candidate_indexes
from research.benchmarks.case import Case
from research.benchmarks.engines.scan import open_segments
from research.benchmarks.plots import save_fronts
from research.benchmarks.report import Result, read_results
from research.benchmarks.rows import percentile

# Searched first and not counted: compiling and first reads are no part of a latency.
_WARM_UP = 3


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One index at one setting; times are of selecting the blocks, not of scanning them.

    ``recall`` is the share of the exact top ten spans that start in the selected blocks; ``blocks`` is the mean
    number of selected blocks, of ``of_blocks``.
    """

    index: str
    units: int
    lists: int
    windows: int
    recall: float
    p50_ms: float
    p99_ms: float
    blocks: float
    of_blocks: int
    bytes_per_unit: float
    build_s: float
    queries: int
    description: str


def block_recall(spans: Int[np.ndarray, "k 2"], blocks: Int[np.ndarray, " blocks"]) -> float:
    """The share of exact spans that start in the blocks; a start of -1 stands for no span.

    >>> block_recall(np.array([[3, 5], [300, 301], [-1, -1]]), np.array([1]))
    0.5
    """
    starts = spans[spans[:, 0] >= 0, 0]
    return float(np.isin(starts // BLOCK, blocks).mean()) if len(starts) else 1.0


def measure(case: Case, indexes: Sequence[CandidateIndex], queries: int, threads: int) -> Iterator[CandidateRow]:
    """Yield a row for every setting of every index. Raises ``InvalidInput`` for a case of several segments."""
    segment = only_segment(case)
    for index in indexes:
        faiss.omp_set_num_threads(threads)
        started = time.perf_counter()
        built = index.build(segment)
        build_s = time.perf_counter() - started
        faiss.omp_set_num_threads(1)
        for setting in index.settings:
            yield _row(case, index, setting, built, build_s, queries)


def only_segment(case: Case) -> Segment:
    """The segment of a case that has one."""
    segments = open_segments(case.folder)
    if len(segments) > 1:
        raise InvalidInput(
            f"The case has {len(segments)} segments; indexes are compared on one.",
            hint="Prepare it with `spanseek bench` without --segment-units.",
            field="case",
        )
    return segments[0]


def _row(
    case: Case, index: CandidateIndex, setting: Setting, built: BlockIndex, build_s: float, queries: int
) -> CandidateRow:
    vectors = case.queries.vectors[:queries]
    for query in vectors[:_WARM_UP]:
        built.blocks(query, setting)
    timed = [_timed(built, query, setting) for query in vectors]
    times, selected = [ms for ms, _ in timed], [blocks for _, blocks in timed]
    return CandidateRow(
        index=index.name,
        units=case.info.units,
        lists=setting.lists,
        windows=setting.windows,
        recall=round(fmean(map(block_recall, case.exact_spans[:queries], selected)), 4),
        p50_ms=percentile(times, 50),
        p99_ms=percentile(times, 99),
        blocks=round(fmean(map(len, selected)), 1),
        of_blocks=-(-case.info.units // BLOCK),
        bytes_per_unit=round(built.nbytes / case.info.units, 1),
        build_s=round(build_s, 2),
        queries=len(vectors),
        description=index.description,
    )


def _timed(
    built: BlockIndex, query: Float32[np.ndarray, " dim"], setting: Setting
) -> tuple[float, Int[np.ndarray, " blocks"]]:
    started = time.perf_counter()
    blocks = built.blocks(query, setting)
    return (time.perf_counter() - started) * 1000, blocks


# A heading, and how a row is written under it.
_COLUMNS = (
    ("index", "{index}"),
    ("lists", "{lists:,}"),
    ("windows", "{windows:,}"),
    ("recall", "{recall:.3f}"),
    ("p50 ms", "{p50_ms:.2f}"),
    ("p99 ms", "{p99_ms:.2f}"),
    ("blocks", "{blocks:,.0f}"),
    ("B/unit", "{bytes_per_unit:.1f}"),
    ("build s", "{build_s:.1f}"),
)


def as_table(rows: Sequence[Result]) -> Table:
    """A table for the terminal, a row for every setting of every index."""
    table = Table(*(heading for heading, _ in _COLUMNS), box=SIMPLE, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*(form.format(**row) for _, form in _COLUMNS))
    return table


def run(case: Path, names: str, queries: int, threads: int) -> list[Result]:
    """Measure, saying on the way what has been measured."""
    rows = []
    for row in measure(Case(case), candidate_indexes(names), queries, threads):
        err.print(f"{row.index}, {row.lists}, {row.windows}: {row.recall} in {row.p50_ms} ms", markup=False)
        rows.append(asdict(row))
    return rows


def main() -> None:
    """Measure, and show it as asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", type=Path, required=True)
    parser.add_argument("--indexes", default="all", help="names separated by commas")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2, help="threads to build with")
    parser.add_argument("--results", type=Path, action="append", default=[])
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        earlier = [row for path in given.results for row in read_results(path)]
        rows = run(given.case, given.indexes, given.queries, given.threads)
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
