"""Stratified sampling of pairs of a phrase and a span, with known probabilities.

Pairs are counted in ten thousand bins of raw, so that a collection of any size is planned in little memory. The strata
lie around a threshold: near it, a label says most about the precision of that threshold.

Within a stratum, a pair of a phrase with N pairs is drawn with a probability proportional to 1 / sqrt(N): phrases with
many pairs get more labels, but not all of them. The probabilities are stored with the sample, so that estimates
weighted by their inverses stay unbiased (Horvitz and Thompson, 1952).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from app.answers import described

BINS = 10_000
# The lower end of each stratum, as the number of pairs above it in multiples of those above the threshold; the last
# stratum holds all others. The shares of labels: most go to the two strata that meet at the threshold.
_REACHES = (0.5, 1.0, 2.0, 8.0)
_SHARES = (0.25, 0.30, 0.25, 0.10, 0.10)
# One label says nothing about the variance within its stratum.
_FEWEST = 2

PhraseBins = Int[np.ndarray, "phrases bins"]
Cells = Int[np.ndarray, " phrases"]
Probabilities = Float[np.ndarray, " phrases"]


@dataclass(frozen=True, slots=True)
class Stratum:
    """Pairs with a raw from `low` up to `high`."""

    number: Annotated[int, described("1 is the highest.")]
    low: float
    high: float
    population: Annotated[int, described("The number of pairs.")]
    drawn: Annotated[int, described("The number of pairs drawn.")]


@dataclass(frozen=True, slots=True)
class StratumSample:
    """The sample of one stratum. ``ranks`` are positions among a phrase's pairs in the stratum, by descending raw."""

    stratum: Stratum
    ranks: Sequence[Int[np.ndarray, " _drawn"]]
    probabilities: Probabilities


@dataclass(frozen=True, slots=True)
class RankedPairs:
    """The pairs of one phrase by descending raw, which turns ranks in a stratum into rows.

    >>> ranked = RankedPairs.of(np.array([0.2, 0.9, 0.5, 0.55]))
    >>> ranked.rows(Stratum(2, low=0.5, high=0.6, population=2, drawn=1)).tolist()
    [3, 2]
    """

    order: Int[np.ndarray, " pairs"]
    bins: Int[np.ndarray, " pairs"]

    @classmethod
    def of(cls, raw: Float[np.ndarray, " pairs"]) -> "RankedPairs":
        """Rank pairs by raw; ties stay in order."""
        order = np.argsort(-raw, kind="stable")
        return cls(order, bins_of(raw[order]))

    def rows(self, stratum: Stratum) -> Int[np.ndarray, " _rows"]:
        """The pairs of a stratum."""
        low, high = bin_range(stratum)
        first, last = np.searchsorted(-self.bins, [-high, -low], side="right")
        return self.order[first:last]


def draw_strata(counts: PhraseBins, near: float, size: int, rng: np.random.Generator) -> list[StratumSample]:
    """Draw ``size`` pairs, most of them near a raw. ``counts`` holds the number of pairs by phrase and bin."""
    samples = []
    for stratum in plan_strata(counts.sum(axis=0), near, size):
        low, high = bin_range(stratum)
        populations = counts[:, low:high].sum(axis=1)
        chances = probabilities(populations, stratum.drawn)
        samples.append(StratumSample(stratum, draw(populations, chances, rng), chances))
    return samples


def bin_range(stratum: Stratum) -> tuple[int, int]:
    """The first bin of a stratum, and the first bin above it."""
    return round(stratum.low * BINS), round(stratum.high * BINS)


def bins_of(raw: Float[np.ndarray, " pairs"]) -> Int[np.ndarray, " pairs"]:
    """The bin of every raw; the last one holds its upper end, too.

    >>> bins_of(np.array([0.0, 0.80005, 1.0])).tolist()
    [0, 8000, 9999]
    """
    return np.minimum((raw * BINS).astype(np.int64), BINS - 1)


def plan_strata(counts: Int[np.ndarray, " bins"], near: float, size: int) -> list[Stratum]:
    """Strata around a raw, the highest first, with their shares of ``size`` labels. No stratum is empty.

    >>> counts = np.zeros(BINS, np.int64)
    >>> counts[[9000, 8000, 7000, 1000]] = 10, 10, 20, 960
    >>> for stratum in plan_strata(counts, near=0.8, size=30):
    ...     print(stratum.low, stratum.high, stratum.population, stratum.drawn)
    0.9 1.0 10 9
    0.8 0.9 10 10
    0.7 0.8 20 8
    0.1 0.7 960 3
    """
    above = np.append(np.cumsum(counts[::-1])[::-1], 0)
    reaching = max(int(above[min(int(near * BINS + 1e-6), BINS)]), size // 2, 1)
    # The highest bin with that many pairs above its lower end; ``above`` falls as bins rise.
    lows = [int(np.searchsorted(-above[:-1], -min(reach * reaching, above[0]), side="right")) - 1 for reach in _REACHES]
    lows = [*lows, 0]
    ends = [BINS, *lows]
    populations = [int(above[low] - above[high]) for low, high in zip(lows, ends, strict=False)]
    drawn = allocate(populations, _SHARES, size)
    rows = [row for row in zip(lows, ends, populations, drawn, strict=False) if row[2]]
    return [
        Stratum(number, low / BINS, high / BINS, population, count)
        for number, (low, high, population, count) in enumerate(rows, 1)
    ]


def allocate(populations: Sequence[int], shares: Sequence[float], size: int) -> list[int]:
    """Apportion labels by shares (Webster's method): at least two to each stratum, never more than its population.

    >>> allocate([1000, 3, 500, 0], [0.5, 0.3, 0.2, 0.1], 100)
    [69, 3, 28, 0]
    """
    room = np.array(populations, np.int64)
    seats = np.minimum(room, _FEWEST)
    while seats.sum() < min(size, room.sum()):
        seats[np.argmax(np.where(seats < room, np.array(shares) / (seats + 0.5), -1.0))] += 1
    return seats.tolist()


def probabilities(populations: Cells, drawn: int) -> Probabilities:
    """The probability of every pair of a phrase, for a sample of ``drawn`` pairs in all.

    >>> probabilities(np.array([100, 400, 0]), 30).tolist()
    [0.1, 0.05, 0.0]
    >>> probabilities(np.array([1, 400]), 21).tolist()  # never more than 1
    [1.0, 0.05]
    """
    chances = np.zeros(len(populations))
    open_ = populations > 0
    while open_.any():
        left = drawn - populations[(populations > 0) & ~open_].sum()
        chances[open_] = left / np.sqrt(populations[open_]).sum() / np.sqrt(populations[open_])
        if not (full := open_ & (chances >= 1)).any():
            break
        chances[full], open_ = 1.0, open_ & ~full
    return chances


def draw(populations: Cells, chances: Probabilities, rng: np.random.Generator) -> list[Int[np.ndarray, " _drawn"]]:
    """Draw pairs of every phrase by systematic sampling from a random start; returns their ranks from 0.

    Every pair is drawn with exactly its probability, and every phrase gets its expected number to within one pair.

    >>> chosen = draw(np.array([100, 400]), np.array([0.1, 0.05]), np.random.default_rng(13))
    >>> [len(ranks) for ranks in chosen], bool((np.diff(chosen[0]) == 10).all())
    ([10, 20], True)
    """
    order = rng.permutation(len(populations))
    masses = (populations * chances)[order]
    ends = np.cumsum(masses)
    points = np.arange(round(float(ends[-1]))) + rng.random()
    # Rounding errors may put the last point beyond the last end.
    cells = np.minimum(np.searchsorted(ends, points, side="right"), np.flatnonzero(masses)[-1])
    chosen: list[Int[np.ndarray, " _drawn"]] = [np.empty(0, np.int64)] * len(populations)
    for cell in np.unique(cells):
        phrase = order[cell]
        within = (points[cells == cell] - (ends[cell] - masses[cell])) / chances[phrase]
        chosen[phrase] = np.clip(within.astype(np.int64), 0, populations[phrase] - 1)
    return chosen
