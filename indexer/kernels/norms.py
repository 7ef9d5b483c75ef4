"""Codes of the inverse norms of all spans: computed once, when a segment is written."""

import numpy as np
from jaxtyping import Float32, Int8, Int32, UInt8
from numba import njit, prange

from indexer.arrays import BLOCK
from indexer.kernels.common import FAST, one_at_a_time

# As in ``models.ops.spans.has_direction``: a squared sum below this share of its units' is rounding error.
_ZERO = 1e-8
# Nor has anything a direction whose inverse norm would leave the range of float32.
_TINY = 1e-60
# What one float32 operation may be off by, relatively.
_EPSILON = 2.0**-24


@njit(fastmath=FAST, cache=True)
def _square_norms(vectors, scales, count, longest):  # type: ignore[no-untyped-def]
    """Squared norms of the spans that start at the first ``count`` units, by length, shortest (1) first, zero where
    the vectors of a span cancel out; and the sum of the units' norms.

    |t_i + ... + t_j|^2 = |t_i + ... + t_{j-1}|^2 + t_j.(2(t_i + ... + t_{j-1}) + t_j): ``longest`` dot products a
    unit give all its spans, where summing vectors would take as many additions of whole vectors.
    """
    units, dim = vectors.shape
    cross = np.zeros((units, longest), np.float64)
    for j in range(units):
        total = 0.0
        for back in range(min(longest, j + 1)):
            dot = np.int32(0)
            for k in range(dim):
                dot += np.int32(vectors[j - back, k]) * np.int32(vectors[j, k])
            product = np.float64(dot) * np.float64(scales[j - back]) * np.float64(scales[j])
            total += product if back == 0 else 2 * product
            cross[j, back] = total
    squares = np.zeros((longest, count), np.float64)
    for i in range(min(count, units)):
        total = mass = 0.0
        for length in range(min(longest, units - i)):
            total += cross[i + length, length]
            mass += cross[i + length, 0]
            if total > max(_ZERO * mass, _TINY):
                squares[length, i] = total
    return squares, np.sqrt(cross[:, 0]).sum()


@njit(parallel=True, nogil=True, cache=True)
def _inverse_norms(vectors, scales, room, shortest, longest, codes, affine, errors):  # type: ignore[no-untyped-def]
    units = len(vectors)
    for block in prange(len(codes)):
        begin = block * BLOCK
        end = min(units, begin + BLOCK + longest - 1)
        squares, norms = _square_norms(vectors[begin:end], scales[begin:end], BLOCK, longest)
        error = 0.0
        for length in range(shortest, longest + 1):
            low, high = np.inf, 0.0
            for i in range(min(BLOCK, units - begin)):
                square = squares[length - 1, i]
                if room[begin + i] >= length and square > 0:
                    low, high = min(low, 1 / np.sqrt(square)), max(high, 1 / np.sqrt(square))
            if high == 0.0:
                continue
            step = (high - low) / 254
            row = length - shortest
            affine[block, row, 0] = low - step
            affine[block, row, 1] = step
            for i in range(min(BLOCK, units - begin)):
                square = squares[length - 1, i]
                if room[begin + i] >= length and square > 0:
                    inverse = 1 / np.sqrt(square)
                    code = 1 + np.uint8(np.rint((inverse - low) / step)) if step > 0 else np.uint8(1)
                    codes[block, row, i] = code
                    decoded = affine[block, row, 0] + affine[block, row, 1] * np.float32(code)
                    # A prefix sum is no longer than all norms together, and a span takes ``length`` steps of it.
                    rounding = _EPSILON * ((length + 4) * norms * inverse + 4 * high / inverse)
                    error = max(error, abs(decoded / inverse - 1) + rounding)
        errors[block] = error


@one_at_a_time
def inverse_norms(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    room: Int32[np.ndarray, " units"],
    shortest: int,
    longest: int,
) -> tuple[
    UInt8[np.ndarray, "blocks lengths {BLOCK}"],
    Float32[np.ndarray, "blocks lengths 2"],
    Float32[np.ndarray, " blocks"],
]:
    """Codes of the inverse norms of all spans, what the codes stand for, and by block what they may put into a cosine.

    That error is the largest relative error of a code, and what the scan's float32 sums may be off by.
    ``room`` says how many units are left in a unit's part, itself included: no span is longer.
    """
    blocks, lengths = -(-len(vectors) // BLOCK), longest - shortest + 1
    codes = np.zeros((blocks, lengths, BLOCK), np.uint8)
    affine = np.zeros((blocks, lengths, 2), np.float32)
    errors = np.zeros(blocks, np.float32)
    _inverse_norms(vectors, scales, room, shortest, longest, codes, affine, errors)
    return codes, affine, errors
