"""STS-B-Context, the data of Table 1 of the SLICE paper: how well does the best span's cosine follow human similarity?

A row is a query, a passage that contains a paraphrase of it, and the similarity people gave the two. Figures are
correlations of the raw cosine with that similarity; no map is fitted.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from models.errors import InvalidInput
from research.evaluation.contrast import half_of as half_of_id

COLUMNS = ("line", "paraphrase", "passage", "goldsim")

Half: TypeAlias = Literal["first", "second", "chooses", "reported"]


@dataclass(frozen=True, slots=True)
class Row:
    """A query, what stands for it in the passage, the passage, the similarity of the first two (0 to 5), and its id."""

    query: str
    paraphrase: str
    passage: str
    gold: float
    id: str = ""


def read_rows(path: Path) -> list[Row]:
    """Rows of a TSV file (csv quoting) with the columns ``line``, ``paraphrase``, ``passage`` and ``goldsim``."""
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}.", hint="Give the TSV of STS-B-Context.", field="data")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t")
            if missing := set(COLUMNS) - set(reader.fieldnames or ()):
                raise _no_rows(path, f"lacks the columns {', '.join(sorted(missing))}")
            return [_row(path, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise _no_rows(path, f"cannot be read: {error}") from error


def half_of(rows: Sequence[Row], half: Half | None) -> Sequence[Row]:
    """The first half of the rows, which are of other kinds of text than the second, or the second; or all.

    ``chooses`` and ``reported`` are the halves by the crc32 of the ids.

    >>> rows = [Row(text, text, text, 1.0) for text in "abc"]
    >>> [row.query for row in half_of(rows, "first")], [row.query for row in half_of(rows, "second")]
    (['a'], ['b', 'c'])
    """
    if half in ("chooses", "reported"):
        return [row for row in rows if half_of_id(row.id) == half]
    middle = len(rows) // 2
    return rows if half is None else rows[:middle] if half == "first" else rows[middle:]


def _no_rows(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"{path.name} {why}.", hint=f"STS-B-Context is a TSV with the columns {', '.join(COLUMNS)}.", field="data"
    )


def _row(path: Path, row: Mapping[str, str]) -> Row:
    try:
        gold = float(row["goldsim"])
    except (TypeError, ValueError):
        gold = math.nan
    if not math.isfinite(gold):
        raise InvalidInput(
            f"{path.name} has a row without a similarity: {row['line']!r}.",
            hint="The column goldsim is a number from 0 to 5.",
            field="data",
        )
    # The ids are in the first column, which has no name.
    return Row(row["line"], row["paraphrase"], row["passage"], gold, row.get("", ""))
