"""Results as tables: in the terminal, and in Markdown for the documentation."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from models.errors import InvalidInput

Result = dict[str, Any]

# The key of a figure, its heading, how it is written, and whether a terminal has room for it.
_COLUMNS = (
    ("recall_at_10", "recall", ".3f", True),
    ("agreement_at_10", "agreement", ".3f", False),
    ("p50_ms", "p50 ms", ",.2f", True),
    ("p99_ms", "p99 ms", ",.2f", True),
    ("p50_ms_1_thread", "p50, 1 thread", ",.2f", False),
    ("p99_ms_1_thread", "p99, 1 thread", ",.2f", False),
    ("batch32_ms_per_query", "batch ms", ",.2f", True),
    ("bytes_per_unit", "B/unit", ",.0f", True),
    ("build_s", "build s", ",.1f", True),
    ("peak_rss_mb", "peak MB", ",.0f", True),
    ("anonymous_mb", "held MB", ",.0f", False),
)


def cells(result: Result, *, short: bool = False) -> list[str]:
    """One result as the cells of a row, all of them or those a terminal has room for."""
    figures = [_written(result.get(key), form) for key, _, form, always in _COLUMNS if always or not short]
    return [result["engine"], f"{result['units']:,}", *figures]


def headings(*, short: bool = False) -> list[str]:
    """The headings over :func:`cells`."""
    return ["engine", "units", *(heading for _, heading, _, always in _COLUMNS if always or not short)]


def read_line(result: Result) -> str:
    """Describe the result of a plain read, in words."""
    return (
        f"{result['units']:,} units: {result['threads']} threads read the vectors in {result['ms']:.2f} ms "
        f"({result['gb_per_s']:.1f} GB/s), one in {result['ms_1_thread']:.2f} ms "
        f"({result['gb_per_s_1_thread']:.1f} GB/s)."
    )


def skipped_line(result: Result) -> str:
    """State why an engine was not measured."""
    return f"{result['engine']}, {result['units']:,} units: {result['skipped']}."


def notes(results: Sequence[Result]) -> list[str]:
    """Notes under a table: plain reads, and engines that were skipped."""
    reads = [read_line(result) for result in results if _is_read(result)]
    return reads + [skipped_line(result) for result in results if result.get("skipped")]


def rich_table(results: Sequence[Result]) -> Table:
    """A table for the terminal."""
    table = Table(*headings(short=True), box=SIMPLE, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for result in _measured(results):
        table.add_row(*cells(result, short=True))
    return table


def as_markdown(results: Sequence[Result]) -> str:
    """A table for the documentation, and notes under it."""
    rows = [headings(), ["---"] * len(headings()), *map(cells, _measured(results))]
    return "\n".join(["| " + " | ".join(row) + " |" for row in rows] + ["", *(f"- {note}" for note in notes(results))])


def read_results(path: Path) -> list[Result]:
    """Read the results that an earlier run printed with ``--json``: the last line of a file."""
    try:
        results: list[Result] = json.loads(path.read_text("utf-8").splitlines()[-1])
    except (OSError, ValueError, IndexError) as error:
        raise InvalidInput(
            f"{path} does not hold the results of a run: {error}.",
            hint="Give a file into which `spanseek bench --json` was written.",
            field="results",
        ) from error
    return results


def _measured(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if not _is_read(result) and not result["skipped"]]


def _is_read(result: Result) -> bool:
    return bool(result["engine"] == "parallel_read")


def _written(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
