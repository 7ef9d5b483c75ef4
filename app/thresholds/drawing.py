"""From counts of pairs to places: strata around a threshold, and what is drawn of every phrase in each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from app.thresholds.sampling import draw, probabilities
from app.thresholds.strata import PhraseBins, Stratum, edges, plan_strata


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


def rows_of(
    raw: Float[np.ndarray, " pairs"], bins: Int[np.ndarray, " pairs"], stratum: Stratum
) -> Int[np.ndarray, " _rows"]:
    """A phrase's pairs of a stratum, from the highest raw on: what places count through."""
    low, high = edges(stratum)
    rows = np.flatnonzero((bins >= low) & (bins < high))
    return rows[np.argsort(-raw[rows], kind="stable")]
