"""STS-B-Context, the data of Table 1 of the SLICE paper: how well does the best span's cosine follow human similarity?

A row is a query, a passage that contains a paraphrase of it, and the similarity people gave the two. Figures are
correlations of the raw cosine with that similarity; no map is fitted.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from app.evaluation.correlation import Correlations, correlations
from app.evaluation.scoring import Scoring
from app.evaluation.setups import PAPER
from models.encoders.base import Encoder
from models.errors import InvalidInput
from models.types import SpanBounds

COLUMNS = ("line", "paraphrase", "passage", "goldsim")

Half: TypeAlias = Literal["first", "second"]


@dataclass(frozen=True, slots=True)
class Row:
    """A query, what stands for it in the passage, the passage, and the similarity of the first two (0 to 5)."""

    query: str
    paraphrase: str
    passage: str
    gold: float


def read_rows(path: Path) -> list[Row]:
    """Rows of a TSV file (csv quoting) with the columns ``line``, ``paraphrase``, ``passage`` and ``goldsim``."""
    if not path.is_file():
        raise InvalidInput(f"There is no file {path}.", hint="Give the TSV of STS-B-Context.", field="data")
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t")
        missing = set(COLUMNS) - set(reader.fieldnames or ())
        if missing:
            raise InvalidInput(
                f"{path.name} lacks the columns {', '.join(sorted(missing))}.",
                hint=f"STS-B-Context is a TSV with the columns {', '.join(COLUMNS)}.",
                field="data",
            )
        return [_row(path, row) for row in reader]


def half_of(rows: Sequence[Row], half: Half | None) -> Sequence[Row]:
    """The first half of the rows, by which weights are chosen; the second, on which they are then judged; or all.

    >>> rows = [Row(text, text, text, 1.0) for text in "abc"]
    >>> [row.query for row in half_of(rows, "first")], [row.query for row in half_of(rows, "second")]
    (['a'], ['b', 'c'])
    """
    middle = len(rows) // 2
    return rows if half is None else rows[:middle] if half == "first" else rows[middle:]


def evaluate(
    encoder: Encoder, rows: Sequence[Row], setups: Sequence[str] = PAPER, bounds: SpanBounds | None = None
) -> dict[str, Correlations]:
    """Correlations of an encoder in the paper's set-ups, all three unless some are named.

    >>> from models.encoders.hashing import HashingEncoder
    >>> rows = [Row("a b", "a b", "c a b", 5.0), Row("a b", "a d", "c a d", 2.5), Row("a b", "e f", "e f g", 0.0)]
    >>> figures = evaluate(HashingEncoder(dim=256), rows)
    >>> sorted(figures), figures["single_pass"].pearson > 0.9
    (['full_context', 'ngram_forward', 'single_pass'], True)
    """
    scoring = Scoring([row.query for row in rows], [row.passage for row in rows])
    gold = np.array([row.gold for row in rows])
    return {setup: correlations(scoring.scores(encoder, setup, bounds or SpanBounds()), gold) for setup in setups}


def _row(path: Path, row: Mapping[str, str]) -> Row:
    try:
        return Row(row["line"], row["paraphrase"], row["passage"], float(row["goldsim"]))
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{path.name} has a row without a similarity: {row['line']!r}.",
            hint="The column goldsim is a number from 0 to 5.",
            field="data",
        ) from None
