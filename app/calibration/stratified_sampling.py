"""From counts of pairs to places: strata around a threshold, and what is drawn of every phrase in each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from app.calibration.sampling import draw, probabilities
from app.calibration.strata import PhraseBins, Stratum, bins_of, edges, plan_strata


@dataclass(frozen=True, slots=True)
class Drawn:
    """The places of what is drawn of every phrase, among its pairs of a stratum from the highest raw on."""

    stratum: Stratum
    places: Sequence[Int[np.ndarray, " _drawn"]]
    chances: Float[np.ndarray, " phrases"]


def draw_strata(counts: PhraseBins, near: float, wanted: int, rng: np.random.Generator) -> list[Drawn]:
    """Draw as many pairs as are wanted, most of them near a raw. ``counts`` says how many a phrase has in every bin."""
    found = []
    for stratum in plan_strata(counts.sum(axis=0), near, wanted):
        low, high = edges(stratum)
        populations = counts[:, low:high].sum(axis=1)
        chances = probabilities(populations, stratum.drawn)
        found.append(Drawn(stratum, draw(populations, chances, rng), chances))
    return found


@dataclass(frozen=True, slots=True)
class Ranked:
    """A phrase's pairs from the highest raw on: what places count through.

    >>> ranked = Ranked.of(np.array([0.2, 0.9, 0.5, 0.55]))
    >>> ranked.rows(Stratum(2, low=0.5, high=0.6, population=2, drawn=1)).tolist()
    [3, 2]
    """

    order: Int[np.ndarray, " pairs"]
    bins: Int[np.ndarray, " pairs"]

    @classmethod
    def of(cls, raw: Float[np.ndarray, " pairs"]) -> "Ranked":
        """Rank pairs by their raws; equal ones stay in order."""
        order = np.argsort(-raw, kind="stable")
        return cls(order, bins_of(raw[order]))

    def rows(self, stratum: Stratum) -> Int[np.ndarray, " _rows"]:
        """The pairs of a stratum."""
        low, high = edges(stratum)
        first, last = np.searchsorted(-self.bins, [-high, -low], side="right")
        return self.order[first:last]
