"""Exact distances SC (eq. 5 of Chang, Agrawal and McCallum, 2021) of a codebook and many stored ones; a cheap nearness.

Coefficients are found by coordinate descent, as in ``spanseek_facets.scores.descend``. A word ends its descent where a
sweep changes no coefficient by more than ``_CLOSE``, and coefficients that stay 0 cost nothing.
"""

from typing import Final

import numpy as np
from jaxtyping import Float32, Float64, Int, Int8
from numba import njit, prange

from indexer.kernels.common import FAST, one_at_a_time

_CLOSE: Final = 1e-9
_TINY: Final = 1e-12


@njit(nogil=True, fastmath=FAST, cache=True)
def _gram(ours, theirs, products):  # type: ignore[no-untyped-def]
    for i in range(len(ours)):
        for j in range(len(theirs)):
            total = np.float32(0)
            for k in range(ours.shape[1]):
                total += ours[i, k] * theirs[j, k]
            products[i, j] = total


@njit(nogil=True, fastmath=FAST, cache=True)
def _error(gram, products, lengths, penalty, sweeps, column, slopes):  # type: ignore[no-untyped-def]
    """The residual of words under facets of this gram matrix: the sum of squares of words less reconstructions."""
    error = 0.0
    for word in range(products.shape[1]):
        for row in range(len(gram)):
            column[row] = 0.0
            slopes[row] = products[row, word] - penalty / 2
        for _ in range(sweeps):
            largest = 0.0
            for row in range(len(gram)):
                value = min(max(column[row] + slopes[row] / (gram[row, row] + _TINY), 0.0), 1.0)
                change = value - column[row]
                if change != 0.0:
                    column[row] = value
                    largest = max(largest, abs(change))
                    for other in range(len(gram)):
                        slopes[other] -= gram[row, other] * change
            if largest < _CLOSE:
                break
        # slopes = P - penalty / 2 - G M, so that |w|^2 - 2 M'P + M'G M = |w|^2 - M'(P + slopes + penalty / 2).
        error += lengths[word]
        for row in range(len(gram)):
            error -= column[row] * (products[row, word] + slopes[row] + penalty / 2)
    return error


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _distances(codes, scales, rows, codebook, penalty, sweeps, distances):  # type: ignore[no-untyped-def]
    facets, dim = codes.shape[1], codes.shape[2]
    count = len(codebook)
    own = np.empty((count, count), np.float64)
    _gram(codebook, codebook, own)
    lengths = np.diag(own).copy()
    for at in prange(len(rows)):
        stored = np.empty((facets, dim), np.float32)
        for i in range(facets):
            for k in range(dim):
                stored[i, k] = np.float32(codes[rows[at], i, k]) * scales[rows[at], i]
        gram, products = np.empty((facets, facets), np.float64), np.empty((count, facets), np.float64)
        _gram(stored, stored, gram)
        _gram(codebook, stored, products)
        there = _error(own, products, np.diag(gram), penalty, sweeps, np.empty(count), np.empty(count))
        back = _error(gram, products.T, lengths, penalty, sweeps, np.empty(facets), np.empty(facets))
        distances[at] = there + back


@one_at_a_time
def facet_distances(
    codes: Int8[np.ndarray, "stored facets dim"],
    scales: Float32[np.ndarray, "stored facets"],
    rows: Int[np.ndarray, " rows"],
    codebook: Float32[np.ndarray, "_facets dim"],
    penalty: float,
    sweeps: int,
) -> Float64[np.ndarray, " rows"]:
    """SC of a codebook and some stored codebooks, from 0 to the number of facets of both."""
    distances = np.empty(len(rows), np.float64)
    _distances(codes, scales, rows.astype(np.int64), codebook, penalty, sweeps, distances)
    return distances


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _nearness(codes, scales, rows, codebook, near):  # type: ignore[no-untyped-def]
    facets, dim = codes.shape[1], codes.shape[2]
    for at in prange(len(rows)):
        best = np.full(len(codebook), np.float32(-2))
        total = np.float32(0)
        for i in range(facets):
            highest = np.float32(-2)
            for j in range(len(codebook)):
                dot = np.float32(0)
                for k in range(dim):
                    dot += np.float32(codes[rows[at], i, k]) * codebook[j, k]
                cosine = dot * scales[rows[at], i]
                highest, best[j] = max(highest, cosine), max(best[j], cosine)
            total += highest
        near[at] = total / np.float32(facets) + best.mean()


@one_at_a_time
def facet_nearness(
    codes: Int8[np.ndarray, "stored facets dim"],
    scales: Float32[np.ndarray, "stored facets"],
    rows: Int[np.ndarray, " rows"],
    codebook: Float32[np.ndarray, "_facets dim"],
) -> Float32[np.ndarray, " rows"]:
    """The mean cosine of every facet with the nearest one of the other side, for both sides; at most 2."""
    near = np.empty(len(rows), np.float32)
    _nearness(codes, scales, rows.astype(np.int64), codebook, near)
    return near
