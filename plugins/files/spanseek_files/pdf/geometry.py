"""The things on a page: segments, which are words or cells, and rows of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# A row holds what overlaps by this share of the lower height; smaller signs than this share begin rows of their own.
_OVERLAP: Final = 0.5
_SMALLEST: Final = 0.45


@dataclass(slots=True)
class Segment:
    """A word, or words in one line, with their box in points from the bottom left and their height."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    size: float

    @property
    def middle(self) -> float:
        """The height of the middle of the line."""
        return (self.bottom + self.top) / 2


@dataclass(slots=True)
class Line(Segment):
    """A row of a block. ``is_table`` where its cells stand apart."""

    is_table: bool = False


def overlap(one: Segment, other: Segment) -> float:
    """The height that two segments share, as a fraction of the lower one's height.

    >>> overlap(Segment("a", 0, 0, 5, 10, 10), Segment("b", 9, 5, 14, 15, 10))
    0.5
    """
    common = min(one.top, other.top) - max(one.bottom, other.bottom)
    return common / max(min(one.top - one.bottom, other.top - other.bottom), 0.1)


def rows(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Segments by rows from the top, each from the left. A row is as high as its largest signs."""
    found: list[tuple[Segment, list[Segment]]] = []
    for segment in sorted(segments, key=lambda each: -each.size):
        row = next((row for row in reversed(found) if _belongs(segment, row[0])), None)
        if row is None:
            found.append((segment, [segment]))
        else:
            row[1].append(segment)
    found.sort(key=lambda row: -row[0].middle)
    return [sorted(members, key=lambda each: each.left) for _, members in found]


def _belongs(segment: Segment, largest: Segment) -> bool:
    return overlap(segment, largest) >= _OVERLAP and segment.size >= _SMALLEST * largest.size


def spread(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies, 0 of none.

    >>> spread([3, 1, 2], 0.5)
    2
    """
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0
