"""Scores kept by row, so that an interrupted evaluation goes on from them and a comparison encodes nothing again.

A file is NDJSON, a line a row: ``{"row": KEY, "best": [...]}``, where ``best`` are cosines by span length, from 1.
Lines are only ever appended, and the last one of a row counts. A line that a kill cut short is skipped, and its row
done again.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from research.evaluation.setups import BestByLength


class KeptScores:
    """Best cosines by span length, of one encoder in one set-up; in memory, and in a file if one is named.

    >>> kept = KeptScores()
    >>> kept.add(["a"], np.array([[0.25, np.nan]]))
    >>> kept.has("a", 2), kept.has("a", 3), kept.matrix(["a"], 2).tolist()
    (True, False, [[0.25, nan]])
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._best: dict[str, list[float | None]] = _read(path) if path and path.exists() else {}

    def has(self, key: str, longest: int) -> bool:
        """True if a row's scores are known for spans of up to so many units."""
        return len(self._best.get(key, ())) >= longest

    def add(self, keys: Sequence[str], best: BestByLength) -> None:
        """Keep the scores of rows."""
        rows = {key: _without_nan(of_row) for key, of_row in zip(keys, best, strict=True)}
        self._best.update(rows)
        if self._path:
            _append(self._path, rows)

    def matrix(self, keys: Sequence[str], longest: int) -> BestByLength:
        """The scores of rows, for spans of up to so many units."""
        return np.array([self._best[key][:longest] for key in keys], float).reshape(len(keys), longest)


def row_key(query: str, passage: str) -> str:
    """Identifies a row by its texts, so that any choice of rows finds its scores.

    >>> len(row_key("a", "b c")), row_key("a", "b c") == row_key("a b", "c")
    (24, False)
    """
    return sha256(json.dumps([query, passage]).encode()).hexdigest()[:24]


def _without_nan(best: Float[np.ndarray, " lengths"]) -> list[float | None]:
    """The scores of a row as JSON can say them."""
    return [None if np.isnan(score) else float(score) for score in best]


def _read(path: Path) -> dict[str, list[float | None]]:
    lines = (_parsed(line) for line in path.read_text("utf-8").splitlines())
    return {line["row"]: line["best"] for line in lines if line}


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _append(path: Path, rows: Mapping[str, Sequence[float | None]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({"row": key, "best": best}) + "\n" for key, best in rows.items())
