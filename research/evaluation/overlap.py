"""How well two spans of one document agree, in units."""

from models.types import UnitSpan


def shared_units(one: UnitSpan, other: UnitSpan) -> int:
    """How many units stand in both spans.

    >>> shared_units(UnitSpan(0, 4), UnitSpan(2, 9))
    2
    """
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def is_right(found: UnitSpan, gold: UnitSpan) -> bool:
    """Whether a span covers at least half of a gold span's units and is at most twice as long.

    >>> is_right(UnitSpan(0, 4), UnitSpan(2, 6)), is_right(UnitSpan(0, 9), UnitSpan(2, 6))
    (True, False)
    """
    return 2 * shared_units(found, gold) >= len(gold) and len(found) <= 2 * len(gold)


def at_same_place(found: UnitSpan, gold: UnitSpan) -> bool:
    """Whether two spans share at least half of the units of the shorter one. A span that is right is at the same place.

    >>> at_same_place(UnitSpan(3, 5), UnitSpan(0, 20)), at_same_place(UnitSpan(0, 20), UnitSpan(19, 22))
    (True, False)
    """
    return 2 * shared_units(found, gold) >= min(len(found), len(gold))


def overlap_f1(found: UnitSpan, gold: UnitSpan) -> float:
    """Harmonic mean of the shares of either span that stand in the other: 2 |both| / (|found| + |gold|).

    >>> overlap_f1(UnitSpan(0, 4), UnitSpan(2, 8))
    0.4
    """
    return 2 * shared_units(found, gold) / (len(found) + len(gold))
