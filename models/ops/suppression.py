"""Overlap suppression: of spans that share a unit, only the best is kept."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator


def non_overlapping(spans: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Positions of the surviving spans, in order, given spans in descending order of preference.

    A span survives if it shares no unit with a preferred survivor (greedy non-maximum suppression). It costs
    one binary search per span, because survivors never overlap.

    >>> list(non_overlapping([(2, 5), (4, 6), (0, 2), (1, 3)]))
    [0, 2]
    """
    taken: list[tuple[int, int]] = []
    for position, (start, end) in enumerate(spans):
        after = bisect_left(taken, (end, end))
        if after and taken[after - 1][1] > start:
            continue
        insort(taken, (start, end))
        yield position
