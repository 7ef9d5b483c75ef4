"""The loops that must run at the speed of memory: the only importer of numba.

Each has a naive oracle in ``tests/reference.py``. Block and code are those of ``indexer.segments.layout``.
"""

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba
import numpy as np
from jaxtyping import Bool, Float32, Float64, Int, Int8, Int16, Int32, UInt8
from numba import njit, prange

from indexer.segments.layout import BLOCK

# How many maxima a block yields. Their spans must be able to lie apart (see ``selection.floor``).
RUN = 64
RUNS = BLOCK // RUN
# Lower than any approximate cosine, however far off that may be.
NO_SPAN = np.finfo(np.float32).min

# Sums may be reordered so that they vectorise; no kernel ever sees a NaN or an infinity.
_FAST = {"nnan", "ninf", "nsz", "reassoc", "contract"}
# As in ``models.ops.spans.has_direction``: a squared sum below this share of its units' is rounding error.
_ZERO = 1e-8
# Nor has anything a direction whose inverse norm would leave the range of float32.
_TINY = 1e-60
# What one float32 operation may be off by, relatively.
_EPSILON = 2.0**-24

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_LOCK = threading.Lock()


def _one_at_a_time(kernel: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let one thread at a time into parallel kernels: they use all cores, and numba's fallback layer dies of two."""

    @functools.wraps(kernel)
    def locked(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        with _LOCK:
            return kernel(*arguments, **named)

    return locked


def threading_layer() -> str:
    """The layer numba runs parallel kernels on (``omp``, ``tbb`` or ``workqueue``)."""
    inverse_norms(np.zeros((1, 1), np.int8), np.zeros(1, np.float32), np.ones(1, np.int32), 1, 1)
    return str(numba.threading_layer())


@njit(fastmath=_FAST, cache=True)
def _dots(
    vectors: Int8[np.ndarray, "units dim"], query: Int16[np.ndarray, " dim"], out: Int32[np.ndarray, " units"]
) -> None:
    # A function of its own: only then does LLVM see the int8 x int16 pattern and emit vpmaddwd.
    units, dim = vectors.shape
    for unit in range(units):
        total = np.int32(0)
        for k in range(dim):
            total += np.int32(vectors[unit, k]) * np.int32(query[k])
        out[unit] = total


@njit(fastmath=_FAST, cache=True)
def _numerators(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    query: Int16[np.ndarray, " dim"],
    step: np.float32,
    prefix: Float32[np.ndarray, " bounds"],
) -> None:
    """Prefix sums of the dot products; ``prefix`` may be longer than the units and repeats the last sum."""
    dots = np.empty(len(vectors), np.int32)
    _dots(vectors, query, dots)
    total = np.float32(0)
    prefix[0] = total
    for unit in range(len(vectors)):
        total += np.float32(dots[unit]) * (scales[unit] * step)
        prefix[unit + 1] = total
    prefix[len(vectors) + 1 :] = total


@njit(fastmath=_FAST, cache=True)
def _block_scores(
    prefix: Float32[np.ndarray, " bounds"],
    codes: UInt8[np.ndarray, "lengths block"],
    affine: Float32[np.ndarray, "lengths 2"],
    shortest: int,
    top: Float32[np.ndarray, " block"],
) -> None:
    """For every start in a block, the best approximate cosine over all lengths."""
    top[:] = NO_SPAN
    starts = prefix[:BLOCK]
    for length in range(len(codes)):
        offset, step = affine[length, 0], affine[length, 1]
        ends = prefix[length + shortest : length + shortest + BLOCK]
        code = codes[length]
        for i in range(BLOCK):
            score = (ends[i] - starts[i]) * (offset + step * np.float32(code[i]))
            score = score if code[i] > 0 else NO_SPAN
            top[i] = max(top[i], score)


@njit(parallel=True, fastmath=_FAST, cache=True)
def _scan(vectors, scales, codes, affine, shortest, queries, steps, blocks, masked, mask, best, peak):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    units = len(vectors)
    ahead = codes.shape[1] + shortest - 2
    for position in prange(len(blocks)):
        block = blocks[position]
        begin = block * BLOCK
        end = min(units, begin + BLOCK + ahead)
        prefix = np.empty(BLOCK + ahead + 1, np.float32)
        top = np.empty(BLOCK, np.float32)
        for query in range(len(queries)):
            _numerators(vectors[begin:end], scales[begin:end], queries[query], steps[query], prefix)
            _block_scores(prefix, codes[block], affine[block], shortest, top)
            if masked:
                for i in range(min(BLOCK, units - begin)):
                    if not mask[begin + i]:
                        top[i] = NO_SPAN
            for run in range(RUNS):
                at = run * RUN + np.argmax(top[run * RUN : (run + 1) * RUN])
                best[query, position, run] = top[at]
                peak[query, position, run] = min(begin + at, units - 1)


@_one_at_a_time
def scan(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    codes: UInt8[np.ndarray, "blocks lengths {BLOCK}"],
    affine: Float32[np.ndarray, "blocks lengths 2"],
    shortest: int,
    queries: Int16[np.ndarray, "queries dim"],
    steps: Float32[np.ndarray, " queries"],
    blocks: Int[np.ndarray, " chosen"],
    mask: Bool[np.ndarray, " units"] | None,
) -> tuple[Float32[np.ndarray, "queries chosen runs"], Int[np.ndarray, "queries chosen runs"]]:
    """Best approximate cosine of every run of ``RUN`` starts in the chosen blocks, and the unit it starts at.

    One pass over memory serves all queries. Spans may start only at units that ``mask`` allows; a run without a
    span yields ``NO_SPAN``.
    """
    best = np.empty((len(queries), len(blocks), RUNS), np.float32)
    peak = np.empty(best.shape, np.int64)
    everything = mask if mask is not None else np.empty(0, np.bool_)
    masked = mask is not None
    _scan(vectors, scales, codes, affine, shortest, queries, steps, blocks, masked, everything, best, peak)
    return best, peak


@njit(fastmath=_FAST, cache=True)
def block_cosines(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    codes: UInt8[np.ndarray, "lengths block"],
    affine: Float32[np.ndarray, "lengths 2"],
    shortest: int,
    query: Int16[np.ndarray, " dim"],
    step: np.float32,
    begin: int,
) -> Float32[np.ndarray, "lengths block"]:
    """Approximate cosines of all spans that start in the block at unit ``begin``; ``NO_SPAN`` where there is none."""
    lengths = len(codes)
    end = min(len(vectors), begin + BLOCK + lengths + shortest - 2)
    prefix = np.empty(BLOCK + lengths + shortest - 1, np.float32)
    _numerators(vectors[begin:end], scales[begin:end], query, step, prefix)
    scores = np.full((lengths, BLOCK), NO_SPAN, np.float32)
    for length in range(lengths):
        for i in range(BLOCK):
            if codes[length, i] > 0:
                inverse = affine[length, 0] + affine[length, 1] * np.float32(codes[length, i])
                scores[length, i] = (prefix[i + length + shortest] - prefix[i]) * inverse
    return scores


@njit(parallel=True, cache=True)
def _rescore(vectors, scales, starts, ends, query, cosines):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    dim = vectors.shape[1]
    for span in prange(len(starts)):
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


@_one_at_a_time
def rescore(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    starts: Int[np.ndarray, " spans"],
    ends: Int[np.ndarray, " spans"],
    query: Float32[np.ndarray, " dim"],
) -> Float64[np.ndarray, " spans"]:
    """Exact cosine of a unit-length query with every span of the stored vectors.

    A span's figure depends on the span and the query alone, to the last bit: not on what else is scored.
    """
    cosines = np.empty(len(starts), np.float64)
    _rescore(vectors, scales, starts, ends, query, cosines)
    return cosines


@njit(fastmath=_FAST, cache=True)
def _square_norms(vectors, scales, count, longest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
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


@njit(parallel=True, cache=True)
def _inverse_norms(vectors, scales, room, shortest, longest, codes, affine, errors):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
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


@_one_at_a_time
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
