"""The scan for one query, at the speed of memory."""

import numpy as np
from jaxtyping import Bool, Float32, Int, Int8, Int16, Int32, UInt8
from numba import njit, prange

from indexer.arrays import BITS, BLOCK, SENTENCE_STARTS, STRENGTHS, SegmentArrays, SpanTerms
from indexer.kernels.common import FAST, NO_SPAN, RUN, RUNS, one_at_a_time, threads_for
from indexer.kernels.intrinsics import (
    FLIP,
    LINE,
    ROWS,
    grow_prefix_of_one,
    prefetch,
    score_run,
)
from models.kernels.llvm import has_byte_products

_CACHE_LINE = 64
# The prefetch distance in units. Without prefetching the scan takes nearly twice as long.
_AHEAD = 8
_BYTES = has_byte_products()
# More units than a span has.
ENDLESS = 1 << 20


@njit(fastmath=FAST, cache=True)
def _dots(
    vectors: Int8[np.ndarray, "units dim"], query: Int16[np.ndarray, " dim"], out: Int32[np.ndarray, " units"]
) -> None:
    # A function of its own: only then does LLVM see the int8 x int16 pattern and emit vpmaddwd.
    units, dim = vectors.shape
    for unit in range(units):
        for line in range(0, dim, _CACHE_LINE):
            prefetch(vectors, (unit + _AHEAD) * dim + line)
        total = np.int32(0)
        for k in range(dim):
            total += np.int32(vectors[unit, k]) * np.int32(query[k])
        out[unit] = total


@njit(fastmath=FAST, cache=True)
def numerators(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    query: Int16[np.ndarray, " dim"],
    step: np.float32,
    prefix: Float32[np.ndarray, " bounds"],
) -> None:
    """Prefix sums of the dot products; ``prefix`` may be longer than the units and repeats the last sum."""
    units, dim = vectors.shape
    whole = units // ROWS * ROWS if _BYTES and dim % LINE == 0 else 0
    prefix[0] = 0
    if whole:
        high, low, first = halves(query)
        for unit in range(0, whole, ROWS):
            grow_prefix_of_one(vectors[unit:], scales[unit:], high, low, first, step, prefix[unit:])
    dots = np.empty(units - whole, np.int32)
    _dots(vectors[whole:], query, dots)
    total = prefix[whole]
    for unit in range(whole, units):
        total += np.float32(dots[unit - whole]) * (scales[unit] * step)
        prefix[unit + 1] = total
    prefix[units + 1 :] = total


@njit(cache=True)
def halves(query: Int16[np.ndarray, " dim"]) -> tuple[Int8[np.ndarray, " dim"], Int8[np.ndarray, " dim"], np.int32]:
    """A query as ``128 * high + low``, and what takes back the ``FLIP`` that is added to the units."""
    high = np.empty(len(query), np.int8)
    low = np.empty(len(query), np.int8)
    total = np.int32(0)
    for k in range(len(query)):
        high[k] = (query[k] + 64) >> 7
        low[k] = query[k] - 128 * np.int32(high[k])
        total += np.int32(query[k])
    return high, low, np.int32(-FLIP * total)


@njit(cache=True)
def border_values(
    borders: UInt8[np.ndarray, " units"],
    shift: int,
    table: Float32[np.ndarray, " strengths"] | Int32[np.ndarray, " strengths"],
    begin: int,
    values: Float32[np.ndarray, " bounds"] | Int32[np.ndarray, " bounds"],
) -> None:
    """Look up values by the strengths of borders from unit ``begin`` on: of starts, or of ends with ``shift`` ``BITS``.

    Beyond the last unit, the strength is that at the first one: a segment ends as it begins.
    """
    there = min(len(values), len(borders) - begin)
    for i in range(there):
        values[i] = table[(borders[begin + i] >> shift) % STRENGTHS]
    values[there:] = table[(borders[0] >> shift) % STRENGTHS]


@njit(cache=True)
def room_in_sentences(
    borders: UInt8[np.ndarray, " units"], begin: int, ahead: int, room: Int32[np.ndarray, " starts"]
) -> None:
    """For every start from unit ``begin`` on, the number of units to the end of its sentence, if it is near.

    Sentences that begin more than ``ahead`` units behind the last start are not looked at.
    """
    left = ENDLESS
    last = min(len(borders), begin + len(room) + ahead) - begin
    room[max(0, last) :] = ENDLESS
    for i in range(last - 1, -1, -1):
        left += 1
        if i < len(room):
            room[i] = left
        if SENTENCE_STARTS[borders[begin + i]]:
            left = 0


@njit(fastmath=FAST, cache=True)
def block_scores(
    segment: SegmentArrays,
    block: int,
    query: Int16[np.ndarray, " dim"],
    step: np.float32,
    terms: SpanTerms,
    top: Float32[np.ndarray, " block"],
) -> None:
    """For every start in a block, the best approximate score over all lengths."""
    units, ahead, begin = len(segment.vectors), units_ahead(segment), block * BLOCK
    end = min(units, begin + BLOCK + ahead)
    prefix, ends = np.empty(BLOCK + ahead + 1, np.float32), np.empty(BLOCK + ahead + 1, np.float32)
    starts, lengths = np.empty(BLOCK, np.float32), terms.lengths[0, segment.shortest :]
    room = np.empty(BLOCK, np.int32)
    numerators(segment.vectors[begin:end], segment.scales[begin:end], query, step, prefix)
    border_values(segment.borders, 0, terms.start, begin, starts)
    border_values(segment.borders, BITS, terms.end, begin, ends)
    room_in_sentences(segment.borders, begin, ahead, room)
    codes, affine = segment.norm_codes[block], segment.norm_affine[block]
    for run in range(RUNS):
        score_run(prefix, codes, affine, lengths, ends, room, terms.crossing[0], run * RUN, segment.shortest, top)
    for i in range(BLOCK):
        top[i] += starts[i]  # this leaves NO_SPAN as it is: the terms are too small for it


@njit(fastmath=FAST, cache=True)
def _best_of(top: Float32[np.ndarray, " block"], begin: int) -> tuple[np.float32, np.int32]:
    """The largest score of a run, and its place in the block. The loops have no early exit, so that they vectorise."""
    best, at = NO_SPAN, np.int32(BLOCK)
    for i in range(begin, begin + RUN):
        best = max(best, top[i])
    for i in range(begin, begin + RUN):
        at = min(at, np.int32(i) if top[i] == best else np.int32(BLOCK))
    return best, at


@njit(cache=True)
def units_ahead(segment: SegmentArrays) -> int:
    """The maximum number of units by which spans that start in a block reach beyond it."""
    return segment.norm_codes.shape[1] + segment.shortest - 2


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _scan(segment, query, step, terms, blocks, masked, mask, best, peak):  # type: ignore[no-untyped-def]
    units = len(segment.vectors)
    for position in prange(len(blocks)):
        begin = blocks[position] * BLOCK
        top = np.empty(BLOCK, np.float32)
        block_scores(segment, blocks[position], query, step, terms, top)
        if masked:
            for i in range(min(BLOCK, units - begin)):
                if not mask[begin + i]:
                    top[i] = NO_SPAN
        for run in range(RUNS):
            best[position, run], at = _best_of(top, run * RUN)
            peak[position, run] = min(begin + at, units - 1)


@one_at_a_time
def scan(
    segment: SegmentArrays,
    query: Int16[np.ndarray, " dim"],
    step: np.float32,
    terms: SpanTerms,
    blocks: Int[np.ndarray, " chosen"],
    mask: Bool[np.ndarray, " units"] | None,
) -> tuple[Float32[np.ndarray, "chosen runs"], Int[np.ndarray, "chosen runs"]]:
    """Best approximate score of every run of ``RUN`` starts in the chosen blocks, and the unit it starts at.

    Spans may start only at units that ``mask`` allows; a run without a span yields ``NO_SPAN``.
    """
    best = np.empty((len(blocks), RUNS), np.float32)
    peak = np.empty(best.shape, np.int64)
    everything = mask if mask is not None else np.empty(0, np.bool_)
    with threads_for(len(blocks) * BLOCK):
        _scan(segment, query, step, terms.rounded(), blocks, mask is not None, everything, best, peak)
    return best, peak
