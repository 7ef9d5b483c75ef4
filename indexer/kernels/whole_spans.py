"""Exact cosines of whole clauses, sentences and parts, which may have any length."""

import numpy as np
from jaxtyping import Float32, Float64, Int
from numba import njit, prange

from indexer.arrays import SegmentArrays
from indexer.kernels.common import FAST, one_at_a_time


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _whole_cosines(segment, starts, ends, queries, cosines):  # type: ignore[no-untyped-def]
    dim = segment.vectors.shape[1]
    for span in prange(len(starts)):
        total = np.zeros(dim, np.float64)
        for unit in range(starts[span], ends[span]):
            scale = np.float64(segment.scales[unit])
            for k in range(dim):
                total[k] += np.float64(segment.vectors[unit, k]) * scale
        squares = 0.0
        for k in range(dim):
            squares += total[k] * total[k]
        inverse = 1 / np.sqrt(squares) if squares > 0 else 0.0
        for query in range(len(queries)):
            dot = 0.0
            for k in range(dim):
                dot += total[k] * np.float64(queries[query, k])
            cosines[query, span] = dot * inverse


@one_at_a_time
def whole_cosines(
    segment: SegmentArrays,
    starts: Int[np.ndarray, " spans"],
    ends: Int[np.ndarray, " spans"],
    queries: Float32[np.ndarray, "queries dim"],
) -> Float64[np.ndarray, "queries spans"]:
    """Exact cosine of every span of the stored vectors with every unit-length query; one pass serves all queries.

    Every unit is read as often as spans hold it: for spans that do not overlap this takes the time of a scan.
    """
    cosines = np.empty((len(queries), len(starts)), np.float64)
    _whole_cosines(segment, starts, ends, queries, cosines)
    return cosines
