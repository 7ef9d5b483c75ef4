"""MaxSim: the similarity of two texts of several vectors each (Qin and Van Durme, 2023, eq. 10)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from models.ops.similarity import normalize


@dataclass(frozen=True, slots=True)
class MaxSim:
    """The score, and for every query vector the number of its best match in the document, and its cosine."""

    score: float
    matches: Int[np.ndarray, " queries"]
    cosines: Float[np.ndarray, " queries"]


def maxsim(queries: Float[np.ndarray, "queries dim"], vectors: Float[np.ndarray, "nuggets dim"]) -> MaxSim:
    """The mean over the query's vectors of the largest cosine with any of the document's; of ties the first.

    Vectors need not have length 1. Raises ``ValueError`` if either side has none.

    >>> similarity = maxsim(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 3.0], [2.0, 0.0], [4.0, 0.0]]))
    >>> similarity.matches.tolist(), similarity.cosines.round(3).tolist(), round(similarity.score, 3)
    ([1, 0], [1.0, 0.707], 0.854)
    """
    if not len(queries) or not len(vectors):
        raise ValueError("MaxSim needs at least one vector on either side")
    cosines = normalize(queries.astype(np.float64)) @ normalize(vectors.astype(np.float64)).T
    matches = cosines.argmax(axis=1)
    best = cosines[np.arange(len(queries)), matches]
    return MaxSim(float(best.mean()), matches, best)


def group_maxima(
    similarities: Float[np.ndarray, "nuggets queries"], groups: Int[np.ndarray, " nuggets"], count: int
) -> Float[np.ndarray, "groups queries"]:
    """The largest similarity of every query vector within each of ``count`` groups of rows; -inf in an empty group.

    ``groups`` ascend, as documents do along the nuggets of a segment.

    >>> group_maxima(np.array([[0.5], [0.7], [0.1]]), np.array([0, 0, 2]), 3).tolist()
    [[0.7], [-inf], [0.1]]
    """
    maxima = np.full((count, similarities.shape[1]), -np.inf, similarities.dtype)
    if len(groups):
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        maxima[groups[starts]] = np.maximum.reduceat(similarities, starts, axis=0)
    return maxima
