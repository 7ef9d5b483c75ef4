"""Windows of parts: the units that each forward pass reads, and those that are stored from it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Int

from indexer.errors import InvalidDocument
from models.text.tokens import UnitTokens
from models.types import UnitSpan

# The number of tokens that neighbouring windows share: half of them are context on either side of the seam.
OVERLAP = 64


@dataclass(frozen=True, slots=True)
class Window:
    """The units of a part that one forward pass reads, and those that are stored from it."""

    seen: UnitSpan
    stored: UnitSpan


def plan(joined: UnitTokens, limit: int, overlap: int = OVERLAP) -> Iterator[Window]:
    """Cover a part with windows of at most ``limit`` tokens; every unit is stored exactly once.

    Neighbouring windows share up to ``overlap`` tokens, and the seam lies in the middle of what they share: so a unit
    is stored from the window in which it is most central. Raises ``InvalidDocument`` for a unit of more tokens than
    a window takes.
    """
    if not len(joined):
        return
    seen = list(_cover(joined.first, joined.last, limit, min(overlap, limit // 2)))
    seams = [
        0,
        *(_seam(joined, left, right) for left, right in pairwise(seen)),
        len(joined),
    ]
    for window, start, end in zip(seen, seams[:-1], seams[1:], strict=True):
        yield Window(window, UnitSpan(start, end))


def _cover(
    first: Int[np.ndarray, " units"], last: Int[np.ndarray, " units"], limit: int, overlap: int
) -> Iterator[UnitSpan]:
    start = 0
    while start < len(first):
        end = int(np.searchsorted(last, first[start] + limit, side="right"))
        if end <= start:
            raise InvalidDocument(
                f"One unit has {last[start] - first[start]} tokens; the encoder reads {limit} at once.",
                hint="Use a backbone with longer windows, or remove the unreadable characters.",
            )
        yield UnitSpan(start, end)
        if end == len(first):
            return
        # Not so far back that the next unit would not fit: every window adds at least one unit.
        back = max(last[end - 1] - overlap, last[end] - limit)
        start = min(int(np.searchsorted(first, back, side="left")), end)


def _seam(joined: UnitTokens, left: UnitSpan, right: UnitSpan) -> int:
    """The unit at which the stored units of one window end and the next window's begin."""
    # An integer: for a fraction numpy would convert the whole part to floats, once per window.
    middle = (joined.first[right.start] + joined.last[left.end - 1] + 1) // 2
    seam = int(np.searchsorted(joined.first, middle, side="left"))
    return min(max(seam, right.start), left.end)
