"""Exact cosines of spans of the stored vectors."""

import numpy as np
from jaxtyping import Float32, Float64, Int, Int8
from numba import njit, prange

from indexer.engine.kernels.common import FAST, one_at_a_time


@njit(parallel=True, fastmath=FAST, cache=True)
def _rescore(vectors, scales, starts, ends, queries, owners, cosines):  # type: ignore[no-untyped-def]
    dim = vectors.shape[1]
    for span in prange(len(starts)):
        query = queries[owners[span]]
        total = np.zeros(dim, np.float64)
        for unit in range(starts[span], ends[span]):
            scale = np.float64(scales[unit])
            for k in range(dim):
                total[k] += np.float64(vectors[unit, k]) * scale
        dot = squares = 0.0
        for k in range(dim):
            dot += total[k] * np.float64(query[k])
            squares += total[k] * total[k]
        cosines[span] = dot / np.sqrt(squares) if squares > 0 else 0.0


@one_at_a_time
def rescore(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    starts: Int[np.ndarray, " spans"],
    ends: Int[np.ndarray, " spans"],
    queries: Float32[np.ndarray, "queries dim"],
    owners: Int[np.ndarray, " spans"],
) -> Float64[np.ndarray, " spans"]:
    """Exact cosine of every span of the stored vectors with the unit-length query that wants it.

    A span's figure depends on the span and the query alone, to the last bit: not on what else is scored.
    """
    cosines = np.empty(len(starts), np.float64)
    _rescore(vectors, scales, starts, ends, queries, owners, cosines)
    return cosines
