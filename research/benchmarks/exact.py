"""Exact answers by brute force, in numpy alone: what recall is measured against."""

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from research.benchmarks.case import Case, unit_length
from research.benchmarks.spans import drop_overlaps, span_ends, window_sums

# Starts that are scored at once, and queries that are: their products should stay in the cache.
_STARTS, _QUERIES = 8192, 50
# Passages that are scored at once.
_PASSAGES = 32
# Starts that yield one maximum. A span of at most 64 units cannot touch two blocks that are not neighbours.
_BLOCK = 256
# More than the rounding errors of a cosine, and so many digits that these do not decide the order of equals.
_SLACK, _DIGITS = 1e-6, 9


class _Best:
    """The candidates for one group of queries, and the floors under which none can be."""

    def __init__(self, queries: Float32[np.ndarray, "queries dim"], k: int) -> None:
        self._queries, self._k = queries.astype(np.float64), k
        self._peaks: Float[np.ndarray, "blocks queries"] = np.zeros((0, len(queries)))
        self._found: list[list[tuple[float, int, int]]] = [[] for _ in queries]

    def add(
        self,
        begin: int,
        vectors: Float[np.ndarray, "units dim"],
        inverse: Float[np.ndarray, "lengths starts"],
        shortest: int,
    ) -> None:
        """Take in the spans that start at the units from ``begin`` on."""
        lengths, starts = inverse.shape
        sums = np.zeros((starts + lengths + shortest, len(self._queries)))
        np.cumsum(vectors @ self._queries.T, axis=0, out=sums[1 : len(vectors) + 1])
        best = np.full((starts, len(self._queries)), -np.inf)
        for row, norms in enumerate(inverse):
            cosines = (sums[row + shortest : row + shortest + starts] - sums[:starts]) * norms[:, None]
            cosines[norms == 0] = -np.inf
            np.maximum(best, cosines, out=best)
        self._note_peaks(best)
        for start, owner in np.argwhere(best >= self._floors() - _SLACK).tolist():
            self._note(owner, begin, start, sums[:, owner], inverse[:, start], shortest)

    def _note(
        self,
        owner: int,
        begin: int,
        start: int,
        sums: Float[np.ndarray, " bounds"],
        inverse: Float[np.ndarray, " lengths"],
        shortest: int,
    ) -> None:
        for row in np.flatnonzero(inverse).tolist():
            length = row + shortest
            cosine = float((sums[start + length] - sums[start]) * inverse[row])
            self._found[owner].append((-round(cosine, _DIGITS), begin + start, begin + start + length))

    def _note_peaks(self, best: Float[np.ndarray, "starts queries"]) -> None:
        peaks = np.maximum.reduceat(best, np.arange(0, len(best), _BLOCK))
        self._peaks = np.concatenate([self._peaks, peaks])

    def _floors(self) -> Float[np.ndarray, " queries"]:
        """A cosine that the last wanted span reaches for certain.

        No span overlaps the best ones of two blocks with a block between them. So each of these survives, or is
        displaced by a survivor of its own that scores higher.
        """
        apart = self._peaks[::2]
        if len(apart) < self._k:
            return np.full(apart.shape[1], -np.inf)
        return np.partition(apart, len(apart) - self._k, axis=0)[len(apart) - self._k]

    def result(self) -> tuple[Int[np.ndarray, "queries k 2"], Float[np.ndarray, "queries k"]]:
        spans = np.full((len(self._found), self._k, 2), -1, np.int64)
        cosines = np.full((len(self._found), self._k), -np.inf)
        for owner, spans_of_owner in enumerate(self._found):
            cosine_of = {(start, end): -negative for negative, start, end in spans_of_owner}
            best = drop_overlaps(
                np.array([span[1:] for span in sorted(spans_of_owner)], np.int64).reshape(-1, 2), self._k
            )
            spans[owner, : len(best)] = best
            cosines[owner, : len(best)] = [cosine_of[start, end] for start, end in best.tolist()]
        return spans, cosines


def exact_spans(
    case: Case, queries: Float32[np.ndarray, "queries dim"], k: int
) -> tuple[Int[np.ndarray, "queries k 2"], Float[np.ndarray, "queries k"]]:
    """For every query the ``k`` best spans that do not overlap, and their cosines, best first.

    Filled up with -1 and -inf where there are fewer.
    """
    info = case.info
    groups = [_Best(queries[begin : begin + _QUERIES], k) for begin in range(0, len(queries), _QUERIES)]
    for begin in range(0, info.units, _STARTS):
        end = min(begin + _STARTS, info.units)
        vectors = case.vectors(begin, min(end + info.longest - 1, info.units)).astype(np.float64)
        inverse = _inverse_norms(case, begin, end, vectors)
        for group in groups:
            group.add(begin, vectors, inverse, info.shortest)
    spans, cosines = zip(*(group.result() for group in groups), strict=True)
    return np.concatenate(spans), np.concatenate(cosines)


def _inverse_norms(
    case: Case, begin: int, end: int, vectors: Float[np.ndarray, "units dim"]
) -> Float[np.ndarray, "lengths starts"]:
    """One over the length of every span's sum; 0 where there is no such span."""
    starts, limits = np.arange(begin, end), span_ends(case, begin, end)
    rows = []
    for length, sums, real in window_sums(vectors, end - begin, case.info.shortest, case.info.longest):
        there = real & (starts + length <= limits)
        rows.append(_inverse(np.linalg.norm(sums, axis=1), there))
    return np.stack(rows)


def _inverse(norms: Float[np.ndarray, " starts"], there: Bool[np.ndarray, " starts"]) -> Float[np.ndarray, " starts"]:
    return np.divide(1, norms, out=np.zeros(len(norms)), where=there)


def maxsim(case: Case, tokens: list[Float32[np.ndarray, "_tokens dim"]]) -> Float32[np.ndarray, "queries passages"]:
    """The mean over a query's vectors of the largest cosine with a passage's units: the paper's eq. 10 (Nugget).

    Multi-vector engines rank by the sum, which is the same order.
    """
    stacked = np.concatenate(tokens)
    firsts = np.cumsum([0, *(len(each) for each in tokens[:-1])])
    sizes = np.array([len(each) for each in tokens])[:, None]
    bounds = case.passage_units
    scores = np.empty((len(tokens), len(bounds) - 1), np.float32)
    for first in range(0, len(bounds) - 1, _PASSAGES):
        last = min(first + _PASSAGES, len(bounds) - 1)
        begin, end = int(bounds[first]), int(bounds[last])
        products = unit_length(case.vectors(begin, end)) @ stacked.T
        best = np.maximum.reduceat(products, bounds[first:last] - begin)
        scores[:, first:last] = np.add.reduceat(best.T, firsts) / sizes
    return scores
