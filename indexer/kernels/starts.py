"""The scan by starts, not runs: for counts that need the best span of every document."""

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int, Int16, Int32
from numba import njit, prange

from indexer.arrays import BLOCK, SegmentArrays, SpanTerms
from indexer.kernels.common import FAST, NO_SPAN, RUN, one_at_a_time
from indexer.kernels.single import block_scores
from indexer.kernels.spans import run_scores

# Higher than any approximate score, however far off that may be.
OUT_OF_REACH = float(np.finfo(np.float32).max)
# Runs that one pass gathers spans of: memory is allocated for all their spans.
_RUNS_A_PASS = 512


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _best_of_starts(segment, query, step, terms, blocks, best):  # type: ignore[no-untyped-def]
    units = len(segment.vectors)
    for position in prange(len(blocks)):
        begin = blocks[position] * BLOCK
        top = np.empty(BLOCK, np.float32)
        block_scores(segment, blocks[position], query, step, terms, top)
        best[begin : min(units, begin + BLOCK)] = top[: min(units, begin + BLOCK) - begin]


@one_at_a_time
def best_of_starts(
    segment: SegmentArrays,
    query: Int16[np.ndarray, " dim"],
    step: np.float32,
    terms: SpanTerms,
    blocks: Int[np.ndarray, " chosen"],
    mask: Bool[np.ndarray, " units"] | None,
) -> Float32[np.ndarray, " units"]:
    """For every unit the best approximate score of the spans that start at it; ``NO_SPAN`` where none may."""
    best = np.full(len(segment.vectors), NO_SPAN, np.float32)
    _best_of_starts(segment, query, step, terms.rounded(), blocks, best)
    if mask is not None:
        best[~mask] = NO_SPAN
    return best


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _spans_reaching(segment, query, step, terms, runs, floors, spans):  # type: ignore[no-untyped-def]
    counts = np.zeros(len(runs), np.int64)
    for position in prange(len(runs)):
        begin = runs[position] * RUN
        scores = run_scores(segment, query, step, terms, 0, runs[position])
        for i in range(min(RUN, len(floors) - begin)):
            for row in range(len(scores)):
                if scores[row, i] > NO_SPAN and scores[row, i] >= floors[begin + i]:
                    spans[position, counts[position], 0] = begin + i
                    spans[position, counts[position], 1] = begin + i + row + segment.shortest
                    counts[position] += 1
    return counts


@one_at_a_time
def spans_reaching(
    segment: SegmentArrays,
    query: Int16[np.ndarray, " dim"],
    step: np.float32,
    terms: SpanTerms,
    floors: Float64[np.ndarray, " units"],
) -> Int32[np.ndarray, "spans 2"]:
    """Start and end of every span whose approximate score reaches the floor of its start.

    No span starts where the floor is ``OUT_OF_REACH``.
    """
    rounded = terms.rounded()
    runs = np.unique(np.flatnonzero(floors < OUT_OF_REACH) // RUN)
    spans = [np.empty((0, 2), np.int32)]
    for begin in range(0, len(runs), _RUNS_A_PASS):
        part = runs[begin : begin + _RUNS_A_PASS]
        buffer = np.empty((len(part), RUN * segment.norm_codes.shape[1], 2), np.int32)
        counts = _spans_reaching(segment, query, step, rounded, part, floors, buffer)
        spans += [of_run[:count] for of_run, count in zip(buffer, counts.tolist(), strict=True)]
    return np.concatenate(spans)
