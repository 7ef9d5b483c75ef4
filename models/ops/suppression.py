"""Overlap suppression: of spans that share a unit, only the best stays."""

from bisect import bisect_left, insort
from collections.abc import Sequence


def non_overlapping(spans: Sequence[tuple[int, int]], limit: int | None = None) -> list[int]:
    """Positions of the spans that survive, given spans in falling order of preference.

    A span survives if it shares no unit with a preferred survivor (greedy non-maximum suppression). The cost is
    that of a binary search per span, because survivors never overlap.

    >>> non_overlapping([(2, 5), (4, 6), (0, 2), (1, 3)])
    [0, 2]
    """
    survivors: list[int] = []
    taken: list[tuple[int, int]] = []
    for position, (start, end) in enumerate(spans):
        if limit is not None and len(survivors) >= limit:
            break
        after = bisect_left(taken, (end, end))
        if after and taken[after - 1][1] > start:
            continue
        insort(taken, (start, end))
        survivors.append(position)
    return survivors
