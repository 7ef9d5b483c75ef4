"""The best span of every whole sentence, clause or part, and the cosine of the whole; exact."""

import numpy as np
from jaxtyping import Float32, Float64, Int, Int64
from numba import njit, prange

from indexer.arrays import BITS, SENTENCE_STARTS, STRENGTHS, SegmentArrays, SpanTerms
from indexer.kernels.common import FAST, one_at_a_time, threads_for


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _best_in_whole_spans(segment, starts, ends, longest, query, terms, scores, spans, cosines):  # type: ignore[no-untyped-def]
    dim = segment.vectors.shape[1]
    units = len(segment.scales)
    lengths, crossing = terms.lengths[0], terms.crossing[0]
    for row in prange(len(starts)):
        whole = np.zeros(dim, np.float64)
        best = -9.0
        for start in range(starts[row], ends[row]):
            total = np.zeros(dim, np.float64)
            crosses = False
            for end in range(start + 1, min(start + longest, ends[row]) + 1):
                scale = np.float64(segment.scales[end - 1])
                crosses |= end > start + 1 and SENTENCE_STARTS[segment.borders[end - 1]]
                dot, squares = 0.0, 0.0
                for k in range(dim):
                    total[k] += np.float64(segment.vectors[end - 1, k]) * scale
                    squares += total[k] * total[k]
                    dot += total[k] * np.float64(query[k])
                if end == start + 1:
                    for k in range(dim):
                        whole[k] += total[k]
                if end - start < segment.shortest or squares == 0:
                    continue
                after = segment.borders[end if end < units else 0] >> BITS
                score = lengths[end - start] + terms.start[segment.borders[start] % STRENGTHS] + terms.end[after]
                if crosses:
                    score += crossing
                score += dot / np.sqrt(squares)
                if score > best:
                    best = score
                    spans[row, 0], spans[row, 1] = start, end
        scores[row] = best
        dot, squares = 0.0, 0.0
        for k in range(dim):
            squares += whole[k] * whole[k]
            dot += whole[k] * np.float64(query[k])
        cosines[row] = dot / np.sqrt(squares) if squares > 0 else 0.0


@one_at_a_time
def best_in_whole_spans(
    segment: SegmentArrays,
    starts: Int64[np.ndarray, " whole_spans"],
    ends: Int64[np.ndarray, " whole_spans"],
    longest: int,
    query: Float32[np.ndarray, " dim"],
    terms: SpanTerms,
) -> tuple[Float64[np.ndarray, " whole_spans"], Int[np.ndarray, "whole_spans 2"], Float64[np.ndarray, " whole_spans"]]:
    """The score of the best span of every whole span, that span in units, and the cosine of the whole span.

    A span has up to ``longest`` units, and at least as many as the segment's shortest. Of equal spans the first is the
    best, and of these the shortest. ``terms`` belong to the one query. A sum without a direction is no span. A whole
    span without a span scores -9.
    """
    spans = np.zeros((len(starts), 2), np.int64)
    scores, cosines = np.empty((2, len(starts)), np.float64)
    with threads_for(int((ends - starts).sum()) * longest):
        _best_in_whole_spans(segment, starts, ends, longest, query, terms, scores, spans, cosines)
    return scores, spans, cosines
