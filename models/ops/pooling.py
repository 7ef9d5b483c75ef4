"""Sums token vectors to unit vectors."""

import numpy as np
from jaxtyping import Float32, Int


def pool(
    tokens: Float32[np.ndarray, "tokens dim"],
    token: Int[np.ndarray, " pairs"],
    share: Float32[np.ndarray, " pairs"],
    begins: Int[np.ndarray, " units"],
) -> Float32[np.ndarray, "units dim"]:
    """Sum, for every unit, the shares of the tokens in its run of pairs (see ``models.text.tokens.unit_shares``).

    >>> vectors = np.array([[1, 0], [2, 2], [0, 4]], np.float32)
    >>> pool(vectors, np.array([0, 1, 2]), np.array([1, 1, 0.5], np.float32), np.array([0, 2])).tolist()
    [[3.0, 2.0], [0.0, 2.0]]
    """
    if not len(begins):
        return np.zeros((0, tokens.shape[1]), np.float32)
    counts = np.diff(begins, append=len(token))
    sums = tokens[token[begins]] * share[begins, None]
    for step in range(1, counts.max()):
        # Most units have one token, hardly any more than three: later iterations have little to add.
        longer = np.flatnonzero(counts > step)
        pair = begins[longer] + step
        sums[longer] += tokens[token[pair]] * share[pair, None]
    return sums
