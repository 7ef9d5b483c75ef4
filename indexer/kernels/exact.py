"""Exact cosines and scores of spans of the stored vectors."""

import numpy as np
from jaxtyping import Float32, Float64, Int
from numba import njit, prange

from indexer.arrays import SegmentArrays, SpanTerms
from indexer.errors import SegmentCorrupt
from indexer.kernels.common import FAST, one_at_a_time, threads_for


@njit(parallel=True, nogil=True, fastmath=FAST, cache=True)
def _rescore(segment, firsts, starts, ends, queries, owners, cosines):  # type: ignore[no-untyped-def]
    dim = segment.vectors.shape[1]
    for group in prange(len(firsts) - 1):
        query = queries[owners[firsts[group]]]
        total = np.zeros(dim, np.float64)
        unit = starts[firsts[group]]
        for span in range(firsts[group], firsts[group + 1]):
            while unit < ends[span]:
                scale = np.float64(segment.scales[unit])
                for k in range(dim):
                    total[k] += np.float64(segment.vectors[unit, k]) * scale
                unit += 1
            dot = squares = 0.0
            for k in range(dim):
                dot += total[k] * np.float64(query[k])
                squares += total[k] * total[k]
            cosines[span] = dot / np.sqrt(squares) if squares > 0 else 0.0


@one_at_a_time
def rescore(
    segment: SegmentArrays,
    starts: Int[np.ndarray, " spans"],
    ends: Int[np.ndarray, " spans"],
    queries: Float32[np.ndarray, "queries dim"],
    owners: Int[np.ndarray, " spans"],
    terms: SpanTerms | None = None,
) -> Float64[np.ndarray, " spans"]:
    """Exact score of every span of the stored vectors with its unit-length query: its cosine, and its terms if any.

    The score depends on the span and the query alone, to the last bit, not on what else is scored. Raises
    ``SegmentCorrupt`` for a span beyond the last unit, which damaged norms can suggest.
    """
    if len(ends) and ends.max() > len(segment.vectors):
        raise SegmentCorrupt("The norms of a segment are damaged.", hint="Run `spanseek verify` to see all damage.")
    cosines = np.empty(len(starts), np.float64)
    with threads_for(len(starts)):  # most read one unit more than the span before
        _rescore(segment, _growing(starts, ends, owners), starts, ends, queries, owners, cosines)
    return cosines if terms is None else cosines + terms.of_spans(segment.borders, starts, ends, owners)


def _growing(
    starts: Int[np.ndarray, " spans"], ends: Int[np.ndarray, " spans"], owners: Int[np.ndarray, " spans"]
) -> Int[np.ndarray, " groups_and_one"]:
    """The starts of groups of spans in which each extends the one before, for the same query; and their number.

    The sum over the units of a span is a partial sum of a longer one that starts at the same unit, to the bit.

    >>> _growing(np.array([4, 4, 4, 9]), np.array([5, 7, 6, 11]), np.zeros(4, int)).tolist()
    [0, 2, 3, 4]
    """
    goes_on = (starts[1:] == starts[:-1]) & (owners[1:] == owners[:-1]) & (ends[1:] >= ends[:-1])
    return np.concatenate([np.zeros(min(1, len(starts)), np.int64), np.flatnonzero(~goes_on) + 1, [len(starts)]])
