"""Overlap suppression: of spans that share a unit, only the best is kept."""

import numpy as np
from jaxtyping import Int, Int64
from numba import njit


@njit(nogil=True, cache=True)
def _non_overlapping(starts, ends, taken, survivors):  # type: ignore[no-untyped-def]
    count = 0
    for position in range(len(starts)):
        start, end = starts[position], ends[position]
        free = True
        for unit in range(start, end):
            if taken[unit]:
                free = False
                break
        if free:
            taken[start:end] = True
            survivors[count] = position
            count += 1
    return count


def non_overlapping(
    starts: Int[np.ndarray, " spans"], ends: Int[np.ndarray, " spans"]
) -> Int64[np.ndarray, " survivors"]:
    """Positions of the surviving spans, rising, given spans in descending order of preference.

    A span survives if it shares no unit with a preferred survivor (greedy non-maximum suppression). Time grows with the
    units of all spans, memory with those between the first and the last.

    >>> non_overlapping(np.array([2, 4, 0, 1]), np.array([5, 6, 2, 3])).tolist()
    [0, 2]
    """
    if not len(starts):
        return np.empty(0, np.int64)
    first = np.int64(starts.min())
    taken = np.zeros(ends.max() - first, np.bool_)
    survivors = np.empty(len(starts), np.int64)
    count = _non_overlapping(starts - first, ends - first, taken, survivors)
    return survivors[:count]
