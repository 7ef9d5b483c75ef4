"""All spans of a corpus with their vectors, as engines need them that know nothing of spans."""

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from research.benchmarks.case import Case

# Starts whose spans are made at once.
CHUNK = 4096


def span_ends(case: Case, begin: int, end: int) -> Int[np.ndarray, " starts"]:
    """Ends of the parts that units ``begin:end`` belong to: no span that starts at such a unit goes farther."""
    starts = np.arange(begin, end)
    return case.part_units[np.searchsorted(case.part_units, starts, side="right")]


def window_sums(
    vectors: Float[np.ndarray, "units dim"], starts: int, shortest: int, longest: int
) -> Iterator[tuple[int, Float[np.ndarray, "starts dim"], Bool[np.ndarray, " starts"]]]:
    """For every length the sums of so many vectors from each of the first ``starts`` on, and which have a direction.

    Vectors after the last count as zero. Where vectors cancel out but for rounding errors, no cosine means anything.
    """
    padded = np.concatenate([vectors, np.zeros((longest, vectors.shape[1]))])
    mass = (padded**2).sum(axis=1)
    sums, weight = np.zeros((starts, vectors.shape[1])), np.zeros(starts)
    for length in range(1, longest + 1):
        sums += padded[length - 1 : length - 1 + starts]
        weight += mass[length - 1 : length - 1 + starts]
        if length >= shortest:
            yield length, sums, np.einsum("ij,ij->i", sums, sums) > 1e-8 * weight


def span_vectors(
    case: Case,
) -> Iterator[tuple[Int[np.ndarray, "spans 2"], Float32[np.ndarray, "spans dim"]]]:
    """All spans, some at a time, with their vectors of length 1."""
    info = case.info
    for begin in range(0, info.units, CHUNK):
        end = min(begin + CHUNK, info.units)
        starts, limits = np.arange(begin, end), span_ends(case, begin, end)
        vectors = case.vectors(begin, min(end + info.longest - 1, info.units)).astype(np.float64)
        for length, sums, real in window_sums(vectors, end - begin, info.shortest, info.longest):
            there = real & (starts + length <= limits)
            chosen = sums[there]
            unit = (chosen / np.linalg.norm(chosen, axis=1, keepdims=True)).astype(np.float32)
            yield np.stack([starts[there], starts[there] + length], axis=1), unit


def count_spans(case: Case) -> int:
    """Upper bound on the number of spans in a corpus."""
    sizes = np.diff(case.part_units)
    return int(
        sum(np.maximum(sizes - length + 1, 0).sum() for length in range(case.info.shortest, case.info.longest + 1))
    )


def drop_overlaps(spans: Int[np.ndarray, "spans 2"], most: int) -> Int[np.ndarray, "kept 2"]:
    """The first spans, best first, that share no unit with one before them.

    >>> drop_overlaps(np.array([[2, 5], [4, 6], [0, 2], [7, 8]]), most=2).tolist()
    [[2, 5], [0, 2]]
    """
    apart: list[tuple[int, int]] = []
    for start, end in spans.tolist():
        if all(end <= other_start or other_end <= start for other_start, other_end in apart):
            apart.append((start, end))
            if len(apart) == most:
                break
    return np.array(apart, np.int64).reshape(-1, 2)


# Spans asked for at first. Most of the best ones overlap each other.
_FIRST = 256


def best_spans(
    nearest: Callable[[Float32[np.ndarray, "queries dim"], int], Int[np.ndarray, "queries count"]],
    spans: Int[np.ndarray, "spans 2"],
    queries: Float32[np.ndarray, "queries dim"],
    most: int,
    count: int = _FIRST,
) -> list[Int[np.ndarray, "kept 2"]]:
    """For every query its first ``most`` spans that do not overlap, from an index that knows nothing of overlaps.

    ``nearest`` yields the rows of so many spans, best first, and -1 where it has no more. Where too few are left
    without overlaps, four times as many are asked for.
    """
    count = min(count, len(spans))
    best = [drop_overlaps(spans[row[row >= 0]], most) for row in nearest(queries, count)]
    short = [number for number, of_query in enumerate(best) if len(of_query) < most]
    if short and count < len(spans):
        again = best_spans(nearest, spans, queries[short], most, 4 * count)
        for number, of_query in zip(short, again, strict=True):
            best[number] = of_query
    return best


def span_cosine(case: Case, query: Float32[np.ndarray, " dim"], start: int, end: int) -> float:
    """The cosine of a query with one span, from the stored vectors."""
    total = case.vectors(start, end).sum(axis=0, dtype=np.float64)
    norm = float(np.linalg.norm(total) * np.linalg.norm(query))
    return float(total @ query) / norm if norm else 0.0
