"""Results as tables: in the terminal, and in Markdown for the documentation."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from models.errors import InvalidInput

Result = dict[str, Any]

# The key of a figure, its heading, and how it is written.
_COLUMNS = (
    ("recall_at_10", "recall@10", ".3f"),
    ("agreement_at_10", "agreement", ".3f"),
    ("p50_ms", "p50 ms", ",.2f"),
    ("p99_ms", "p99 ms", ",.2f"),
    ("p50_ms_1_thread", "p50, 1 thread", ",.2f"),
    ("p99_ms_1_thread", "p99, 1 thread", ",.2f"),
    ("batch32_ms_per_query", "batch 32, ms a query", ",.2f"),
    ("bytes_per_unit", "bytes a unit", ",.0f"),
    ("build_s", "build s", ",.1f"),
    ("peak_rss_mb", "peak MB", ",.0f"),
    ("anonymous_mb", "held MB", ",.0f"),
)


def cells(result: Result) -> list[str]:
    """One result as the cells of a row; of a skipped engine the reason stands in the last one."""
    figures = [_written(result.get(key), form) for key, _, form in _COLUMNS]
    return [result["engine"], f"{result['units']:,}", *figures, result.get("skipped", "")]


def headings() -> list[str]:
    """The headings over :func:`cells`."""
    return ["engine", "units", *(heading for _, heading, _ in _COLUMNS), ""]


def read_line(result: Result) -> str:
    """What the result of a plain read says, in words."""
    return (
        f"{result['units']:,} units: {result['threads']} threads read the vectors in {result['ms']:.2f} ms "
        f"({result['gb_per_s']:.1f} GB/s), one in {result['ms_1_thread']:.2f} ms "
        f"({result['gb_per_s_1_thread']:.1f} GB/s)."
    )


def rich_table(results: Sequence[Result]) -> Table:
    """A table for the terminal."""
    table = Table(*headings(), caption="\n".join(read_line(result) for result in results if _is_read(result)))
    for result in results:
        if not _is_read(result):
            table.add_row(*cells(result))
    return table


def as_markdown(results: Sequence[Result]) -> str:
    """A table for the documentation, and the speed of a plain read under it."""
    rows = [headings(), ["---"] * len(headings())]
    rows += [cells(result) for result in results if not _is_read(result)]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", *(read_line(result) for result in results if _is_read(result))])


def read_results(path: Path) -> list[Result]:
    """What an earlier run printed with ``--json``: the last line of a file."""
    try:
        results: list[Result] = json.loads(path.read_text("utf-8").splitlines()[-1])
    except (OSError, ValueError, IndexError) as error:
        raise InvalidInput(
            f"{path} does not hold the results of a run: {error}.",
            hint="Give a file into which `spanseek bench --json` was written.",
            field="results",
        ) from error
    return results


def _is_read(result: Result) -> bool:
    return bool(result["engine"] == "parallel_read")


def _written(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
