"""Which pairs of a phrase and a span to label: strata of the score, and how many to draw from each.

Pairs are counted in ten thousand bins of raw, so that collections of any size can be planned in little memory. Strata
lie around the threshold that somebody thinks of: near it a label says most about what a threshold promises.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

BINS = 10_000
# How many pairs lie above the lower end of each stratum, as multiples of those above the threshold; the last holds
# all the rest. And the share of labels that each should get: most go to the two strata that meet at the threshold.
_REACHES = (0.5, 1.0, 2.0, 8.0)
_SHARES = (0.25, 0.30, 0.25, 0.10, 0.10)
# What two labels are needed for: one alone says nothing of how much its stratum varies.
_FEWEST = 2

PhraseBins = Int[np.ndarray, "phrases bins"]


@dataclass(frozen=True, slots=True)
class Stratum:
    """Pairs with a raw from ``low`` up to ``high``: how many there are and how many are drawn; 1 is the top."""

    number: int
    low: float
    high: float
    population: int
    drawn: int


def edges(stratum: Stratum) -> tuple[int, int]:
    """The first bin of a stratum, and the first one above it."""
    return round(stratum.low * BINS), round(stratum.high * BINS)


def bins_of(raw: Float[np.ndarray, " pairs"]) -> Int[np.ndarray, " pairs"]:
    """The bin of every raw; the last one holds its upper end, too.

    >>> bins_of(np.array([0.0, 0.80005, 1.0])).tolist()
    [0, 8000, 9999]
    """
    return np.minimum((raw * BINS).astype(np.int64), BINS - 1)


def plan_strata(counts: Int[np.ndarray, " bins"], near: float, wanted: int) -> list[Stratum]:
    """Strata around a raw, the highest first, and how many of ``wanted`` labels each gets. None of them is empty.

    >>> counts = np.zeros(BINS, np.int64)
    >>> counts[[9000, 8000, 7000, 1000]] = 10, 10, 20, 960
    >>> for stratum in plan_strata(counts, near=0.8, wanted=30):
    ...     print(stratum.low, stratum.high, stratum.population, stratum.drawn)
    0.9 1.0 10 9
    0.8 0.9 10 10
    0.7 0.8 20 8
    0.1 0.7 960 3
    """
    above = np.append(np.cumsum(counts[::-1])[::-1], 0)
    reaching = max(int(above[min(int(near * BINS + 1e-6), BINS)]), wanted // 2, 1)
    # The highest bin above whose lower end so many pairs lie; above falls as bins rise.
    lows = [int(np.searchsorted(-above[:-1], -min(reach * reaching, above[0]), side="right")) - 1 for reach in _REACHES]
    lows = [*lows, 0]
    ends = [BINS, *lows]
    populations = [int(above[low] - above[high]) for low, high in zip(lows, ends, strict=False)]
    drawn = allocate(populations, _SHARES, wanted)
    rows = [row for row in zip(lows, ends, populations, drawn, strict=False) if row[2]]
    return [
        Stratum(number, low / BINS, high / BINS, population, count)
        for number, (low, high, population, count) in enumerate(rows, 1)
    ]


def allocate(populations: Sequence[int], shares: Sequence[float], wanted: int) -> list[int]:
    """Whole numbers of labels by shares (Webster's method), but two of each at least and never more than there are.

    >>> allocate([1000, 3, 500, 0], [0.5, 0.3, 0.2, 0.1], 100)
    [69, 3, 28, 0]
    """
    room = np.array(populations, np.int64)
    found = np.minimum(room, _FEWEST)
    while found.sum() < min(wanted, room.sum()):
        found[np.argmax(np.where(found < room, np.array(shares) / (found + 0.5), -1.0))] += 1
    return found.tolist()
