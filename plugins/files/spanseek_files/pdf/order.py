"""The order in which a page is read: columns one after the other, tables row by row."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final

from spanseek_files.pdf.geometry import Segment, rows, spread

_STEP: Final = 3.0
# In widths of the font's size: the least white between two columns.
_GUTTER: Final = 0.6
# The least rows with words in both columns, words of a column's lines, and share of its width that they fill.
_ROWS: Final = 5
_WORDS: Final = 3
_FILLED: Final = 0.55
_DEEPEST: Final = 8


@dataclass(frozen=True, slots=True)
class _Columns:
    """Rows ``start`` to ``end`` stand in two columns, parted at ``place``."""

    start: int
    end: int
    place: float


def blocks(words: Sequence[Segment], depth: int = 0) -> list[list[Segment]]:
    """Words in the order of reading, a list for every block: a column, or what stands above or below columns."""
    found = rows(words)
    columns = None if depth > _DEEPEST else _columns(found)
    if columns is None:
        return [list(words)] if words else []
    inside = [*chain.from_iterable(found[columns.start : columns.end])]
    parts = (
        [*chain.from_iterable(found[: columns.start])],
        [word for word in inside if word.right <= columns.place],
        [word for word in inside if word.right > columns.place],
        [*chain.from_iterable(found[columns.end :])],
    )
    return [block for part in parts for block in blocks(part, depth + 1)]


def _columns(found: Sequence[Sequence[Segment]]) -> _Columns | None:
    """The longest run of rows through which a white strip runs, with prose on both of its sides."""
    if len(found) < _ROWS:
        return None
    words = [*chain.from_iterable(found)]
    left, right = min(word.left for word in words), max(word.right for word in words)
    size = spread([word.size for word in words], 0.5)
    lefts = [[word.left for word in row] for row in found]
    best: tuple[int, _Columns] | None = None
    for step in range(int(0.7 * (right - left) / _STEP)):
        place = left + 0.15 * (right - left) + step * _STEP
        sides = [_sides(row, starts, place, _GUTTER * size) for row, starts in zip(found, lefts, strict=True)]
        for start, end in _runs(sides):
            score = sides[start:end].count("both")
            columns = _Columns(start, end, place)
            if score >= _ROWS and (best is None or score > best[0]) and _is_prose(found[start:end], place):
                best = score, columns
    return None if best is None else best[1]


def _sides(row: Sequence[Segment], starts: Sequence[float], place: float, gutter: float) -> str:
    """The side of a place on which the words of a row stand: ``both``, ``one``, or ``across`` it."""
    at = bisect_right(starts, place)
    if at and row[at - 1].right > place:
        return "across"
    if not at or at == len(row):
        return "one"
    return "both" if row[at].left - row[at - 1].right >= gutter else "across"


def _runs(sides: Sequence[str]) -> list[tuple[int, int]]:
    """The runs of rows that do not stand across.

    >>> _runs(["across", "both", "one", "across", "one"])
    [(1, 3), (4, 5)]
    """
    edges = [-1, *(at for at, side in enumerate(sides) if side == "across"), len(sides)]
    return [(before + 1, after) for before, after in pairwise(edges) if after > before + 1]


def _is_prose(found: Sequence[Sequence[Segment]], place: float) -> bool:
    """True if lines on both sides hold words enough and fill their columns: the cells of tables do not."""
    for is_left in (True, False):
        sides = [[word for word in row if (word.right <= place) == is_left] for row in found]
        filled = [row for row in sides if row]
        width = max(row[-1].right for row in filled) - min(row[0].left for row in filled)
        if spread([len(row) for row in filled], 0.5) < _WORDS:
            return False
        if spread([row[-1].right - row[0].left for row in filled], 0.5) < _FILLED * width:
            return False
    return True
