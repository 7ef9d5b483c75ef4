"""Drawing with known probabilities: so many of a stratum's pairs, spread over phrases.

Within a stratum a pair of a phrase with N pairs there is drawn with a probability in proportion to 1 / sqrt(N): phrases
that find much get more labels, but not all of them. Probabilities are kept with what is drawn, so that estimates
weighted by their inverses stay unbiased (Horvitz and Thompson, 1952).
"""

import numpy as np
from jaxtyping import Float, Int

Cells = Int[np.ndarray, " phrases"]
Probabilities = Float[np.ndarray, " phrases"]


def probabilities(populations: Cells, drawn: int) -> Probabilities:
    """With which probability each pair of a phrase is drawn, so that ``drawn`` are in all.

    >>> probabilities(np.array([100, 400, 0]), 30).tolist()
    [0.1, 0.05, 0.0]
    >>> probabilities(np.array([1, 400]), 21).tolist()  # never more than 1
    [1.0, 0.05]
    """
    found = np.zeros(len(populations))
    open_ = populations > 0
    while open_.any():
        left = drawn - populations[(populations > 0) & ~open_].sum()
        found[open_] = left / np.sqrt(populations[open_]).sum() / np.sqrt(populations[open_])
        if not (full := open_ & (found >= 1)).any():
            break
        found[full], open_ = 1.0, open_ & ~full
    return found


def draw(populations: Cells, chances: Probabilities, rng: np.random.Generator) -> list[Int[np.ndarray, " _drawn"]]:
    """Which pairs of each phrase are drawn, by their places from 0: systematically, from a random start.

    Every pair is drawn with its chance, exactly; and every phrase has within one pair of what it should have.

    >>> chosen = draw(np.array([100, 400]), np.array([0.1, 0.05]), np.random.default_rng(13))
    >>> [len(places) for places in chosen], bool((np.diff(chosen[0]) == 10).all())
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
