"""The scan for many queries: every block is read once, and scored for all queries while it is in the cache."""

import numba
import numpy as np
from jaxtyping import Bool, Float32, Int, Int8, Int32, UInt8
from numba import njit, prange

from indexer.arrays import BITS, BLOCK, STRENGTHS, SegmentArrays, SpanTerms
from indexer.kernels.common import FAST, NO_SPAN, RUN, RUNS, one_at_a_time
from indexer.kernels.intrinsics import FLIP, ROWS, best_of_run, grow_prefix
from indexer.kernels.single import border_values, room_in_sentences, units_ahead
from models.kernels.llvm import LANES

# Pieces of work a thread: a core that is slow for a while leaves some of its share to the others.
_PIECES = 8


@njit(fastmath=FAST, cache=True)
def _read(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    begin: int,
    end: int,
    flipped: UInt8[np.ndarray, "rows padded"],
    sizes: Float32[np.ndarray, " rows"],
) -> None:
    """Copy units, as uint8, to where they stay in the cache."""
    dim = vectors.shape[1]
    for unit in range(begin, end):
        for k in range(dim):
            flipped[unit - begin, k] = np.uint8(vectors[unit, k]) ^ np.uint8(FLIP)
        sizes[unit - begin] = scales[unit]
    sizes[end - begin :] = 0


@njit(cache=True)
def _decode(
    codes: UInt8[np.ndarray, "lengths block"],
    affine: Float32[np.ndarray, "lengths 2"],
    inverse: Float32[np.ndarray, "lengths block"],
) -> None:
    """Inverse norms from their codes; NaN where there is no span."""
    for row in range(len(codes)):
        offset, step = affine[row, 0], affine[row, 1]
        for i in range(BLOCK):
            inverse[row, i] = offset + step * np.float32(codes[row, i]) if codes[row, i] > 0 else np.float32(np.nan)


@njit(cache=True)
def _leave_out(mask: Bool[np.ndarray, " starts"], inverse: Float32[np.ndarray, "lengths block"]) -> None:
    for i in range(len(mask)):
        if not mask[i]:
            inverse[:, i] = np.float32(np.nan)


@njit(cache=True)
def _kinds_of_ends(
    of_strengths: Int32[np.ndarray, " bounds"],
    room: Int32[np.ndarray, " starts"],
    shortest: int,
    crossing: int,
    kinds: Int32[np.ndarray, "lengths block"],
) -> None:
    """The first row of every span's kind of end: by the strength of its border, and ``crossing`` further on if a
    sentence ends inside the span.
    """
    for row in range(len(kinds)):
        for i in range(BLOCK):
            crossed = crossing if room[i] < row + shortest else 0
            kinds[row, i] = of_strengths[i + row + shortest] + np.int32(crossed)


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _scan_batch(  # type: ignore[no-untyped-def]
    pieces, segment, queries, first, steps, added, start, rows_of_strengths, blocks, masked, mask, best, peak
):
    units, groups, ahead = len(segment.vectors), len(queries), units_ahead(segment)
    rows = -(-(BLOCK + ahead) // ROWS) * ROWS
    for piece in prange(pieces):
        flipped = np.full((rows, 4 * queries.shape[1]), np.uint8(FLIP))
        sizes = np.zeros(rows, np.float32)
        prefix = np.zeros((rows + 1, LANES), np.float32)
        starts, ends = np.empty(BLOCK, np.float32), np.empty(rows + 1, np.int32)
        inverse = np.empty(segment.norm_codes.shape[1:], np.float32)
        room, kinds = np.empty(BLOCK, np.int32), np.empty(inverse.shape, np.int32)
        top = np.empty(LANES, np.float32)
        where = np.empty(LANES, np.int32)
        for position in range(piece * len(blocks) // pieces, (piece + 1) * len(blocks) // pieces):
            block = blocks[position]
            begin = block * BLOCK
            _read(segment.vectors, segment.scales, begin, min(units, begin + BLOCK + ahead), flipped, sizes)
            border_values(segment.borders, 0, start, begin, starts)
            border_values(segment.borders, BITS, rows_of_strengths, begin, ends)
            room_in_sentences(segment.borders, begin, ahead, room)
            _kinds_of_ends(ends, room, segment.shortest, STRENGTHS * added.shape[2] * LANES, kinds)
            # A short block, the last one of a segment or the only one of a new document, has few runs to look at.
            there = min(RUNS, -(-(units - begin) // RUN))
            _decode(segment.norm_codes[block], segment.norm_affine[block], inverse)
            if masked:
                _leave_out(mask[begin : begin + BLOCK], inverse)
            for group in range(groups):
                for row in range(0, min(rows, there * RUN + ahead), ROWS):
                    grow_prefix(flipped[row:], sizes[row:], queries[group], first[group], steps[group], prefix[row:])
                for run in range(RUNS):
                    if run < there:
                        best_of_run(
                            prefix, inverse, added[group], starts, kinds, run * RUN, segment.shortest, top, where
                        )
                    else:
                        top[:] = NO_SPAN
                    for lane in range(min(LANES, len(best) - group * LANES)):
                        query = group * LANES + lane
                        best[query, position, run] = top[lane]
                        peak[query, position, run] = min(begin + where[lane], units - 1)


def scan_batch(
    segment: SegmentArrays,
    queries: Int8[np.ndarray, "queries dim"],
    steps: Float32[np.ndarray, " queries"],
    terms: SpanTerms,
    blocks: Int[np.ndarray, " chosen"],
    mask: Bool[np.ndarray, " units"] | None,
) -> tuple[Float32[np.ndarray, "queries chosen runs"], Int[np.ndarray, "queries chosen runs"]]:
    """As ``single.scan``, for queries of int8."""
    return scan_packed(segment, pack(queries), steps, terms, blocks, mask)


@one_at_a_time
def scan_packed(
    segment: SegmentArrays,
    packed: tuple[Int8[np.ndarray, "groups words lanes 4"], Int32[np.ndarray, "groups lanes"]],
    steps: Float32[np.ndarray, " queries"],
    terms: SpanTerms,
    blocks: Int[np.ndarray, " chosen"],
    mask: Bool[np.ndarray, " units"] | None,
) -> tuple[Float32[np.ndarray, "queries chosen runs"], Int[np.ndarray, "queries chosen runs"]]:
    """Like :func:`scan_batch`, for packed queries, which can be reused."""
    best = np.empty((len(steps), len(blocks), RUNS), np.float32)
    peak = np.empty(best.shape, np.int64)
    everything = mask if mask is not None else np.empty(0, np.bool_)
    pieces = min(len(blocks), _PIECES * numba.get_num_threads())
    rounded, shortest = terms.rounded(), segment.shortest
    longest = shortest + segment.norm_codes.shape[1] - 1
    added = rounded.end[:, None] + rounded.lengths[:, None, shortest : longest + 1]
    added = np.concatenate([added, added + rounded.crossing[:, None, None]], axis=1)
    rows_of_strengths = np.arange(STRENGTHS, dtype=np.int32) * added.shape[2] * LANES
    of_queries = *packed, _in_lanes(steps), _in_lanes(added), rounded.start, rows_of_strengths
    _scan_batch(pieces, segment, *of_queries, blocks, mask is not None, everything, best, peak)
    return best, peak


def _in_lanes(values: Float32[np.ndarray, "queries ..."]) -> Float32[np.ndarray, "groups ... lanes"]:
    """Values of queries in groups of ``LANES``, all lanes beside each other; zero where a lane has no query.

    >>> _in_lanes(np.ones((17, 3), np.float32)).shape
    (2, 3, 16)
    """
    groups = -(-len(values) // LANES)
    padded = np.zeros((groups * LANES, *values.shape[1:]), np.float32)
    padded[: len(values)] = values
    return np.ascontiguousarray(np.moveaxis(padded.reshape(groups, LANES, *values.shape[1:]), 1, -1))


def pack(
    queries: Int8[np.ndarray, "queries dim"],
) -> tuple[Int8[np.ndarray, "groups words lanes 4"], Int32[np.ndarray, "groups lanes"]]:
    """Queries in groups of ``LANES``, four components of all lanes beside each other.

    With them comes what the dot products begin with: it takes back the ``FLIP`` that was added to the units.
    """
    count, dim = queries.shape
    groups, words = -(-count // LANES), -(-dim // 4)
    padded = np.zeros((groups * LANES, 4 * words), np.int8)
    padded[:count, :dim] = queries
    packed = padded.reshape(groups, LANES, words, 4).transpose(0, 2, 1, 3)
    first = -FLIP * padded.astype(np.int32).sum(axis=1).reshape(groups, LANES)
    return np.ascontiguousarray(packed), first.astype(np.int32)
