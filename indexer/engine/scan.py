"""The scan: every span of every segment, at the speed of memory, exact.

Three steps. The kernels give the best approximate cosine of every run of starts, with a bound on its error. These
yield a floor that no selected span lies under. Only spans that may reach it are scored exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Int8, Int16

from indexer import kernels
from indexer.arrays import SpanTerms
from indexer.engine.executor import Memo, SegmentQuery
from indexer.engine.query import Selection
from indexer.engine.repeats import first_of_equal, stride_of
from indexer.engine.rows import SpanRows
from indexer.engine.selection import owners
from indexer.engine.views import Allowed, SegmentView
from models.types import QueryVectors

# Largest component of a query as int16, and as int8.
_FINE, COARSE = 8191, 127
# The number of queries from which on one batch of int8 is faster than one pass for each of int16.
_BATCH_FROM = 3
# Rounding errors besides those that ``norm_errors`` bounds.
_ROUNDING = 1e-5


class Certain(NamedTuple):
    """For every query, cosines that spans are certain to reach, in any order, and the number of the set of each.

    The spans of a set are so far apart that no span overlaps two of them. So each of them survives suppression, or its
    own survivor with a higher score displaces it. Where hits are grouped by document or part, nothing is displaced, and
    one set holds all spans. Sets with the same number in several segments are one set. -inf stands for no span.
    """

    cosines: Float[np.ndarray, "queries _some"]
    sets: Int[np.ndarray, "queries _some"]

    @classmethod
    def of_one_set(cls, cosines: Float[np.ndarray, "queries _some"]) -> "Certain":
        """Cosines of spans of one set."""
        return cls(cosines, np.zeros(cosines.shape, np.int64))


@dataclass(frozen=True, slots=True)
class CodedQueries:
    """Queries as the kernels read them, and their terms. ``slack`` bounds the error that this puts into any score."""

    codes: Int16[np.ndarray, "queries dim"] | Int8[np.ndarray, "queries dim"]
    steps: Float32[np.ndarray, " queries"]
    slack: Float[np.ndarray, " queries"]
    terms: SpanTerms


@dataclass(frozen=True, slots=True)
class SegmentScan:
    """The runs of one segment: their best approximate cosines for every query, and how far these may be off."""

    view: SegmentView
    allowed: Allowed
    best: Float32[np.ndarray, "queries chosen runs"]
    peak: Int[np.ndarray, "queries chosen runs"]
    error: Float[np.ndarray, "queries chosen"]

    @classmethod
    def of(
        cls,
        view: SegmentView,
        allowed: Allowed,
        best: Float32[np.ndarray, "queries chosen runs"],
        peak: Int[np.ndarray, "queries chosen runs"],
        coded: CodedQueries,
    ) -> "SegmentScan":
        """The approximate cosines of coded queries, with the error of the codes."""
        return cls(view, allowed, best, peak, errors(view, allowed.blocks, coded.slack[:, None]))

    @property
    def lower(self) -> Float[np.ndarray, "queries all_runs"]:
        """A lower bound on the best cosine of every run; -inf for a run without a span."""
        lower = np.where(self.best > kernels.NO_SPAN, self.best - self.error[:, :, None], -np.inf)
        return lower.reshape(len(lower), lower.shape[1] * lower.shape[2])

    @property
    def run_numbers(self) -> Int[np.ndarray, " all_runs"]:
        """The numbers of the runs in their segment."""
        return (self.allowed.blocks[:, None] * kernels.RUNS + np.arange(kernels.RUNS)).reshape(-1)


def read_segment(view: SegmentView, allowed: Allowed, coded: CodedQueries) -> SegmentScan:
    """Read the allowed blocks of a segment: once for all queries of int8, or once for each of int16."""
    segment = view.segment
    if coded.codes.dtype == np.int8:
        best, peak = kernels.scan_batch(
            segment.arrays, coded.codes, coded.steps, coded.terms, allowed.blocks, allowed.mask
        )
    else:
        best = np.empty((len(coded.codes), len(allowed.blocks), kernels.RUNS), np.float32)
        peak = np.empty(best.shape, np.int64)
        for number, (code, step) in enumerate(zip(coded.codes, coded.steps, strict=True)):
            terms = coded.terms.of_query(number)
            best[number], peak[number] = kernels.scan(segment.arrays, code, step, terms, allowed.blocks, allowed.mask)
    return SegmentScan.of(view, allowed, best, peak, coded)


ReadSegment: TypeAlias = Callable[[SegmentView, Allowed, CodedQueries], SegmentScan]


@dataclass(frozen=True)
class SpanScan(SegmentQuery[Certain, list[SpanRows]]):
    """The best spans for unit-length queries: a batch from one pass over memory. Without terms, scores are cosines.

    Its first round gives cosines that spans of a segment are certain to reach, so that all segments share a floor. From
    ``batch_from`` queries on, segments are read for queries of int8, and a second round makes the floor exact. Spans
    that score less than ``least`` are none.
    """

    vectors: QueryVectors
    terms: SpanTerms | None = None
    least: float = -np.inf
    read: ReadSegment = read_segment
    batch_from: int = _BATCH_FROM
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def rounds(self) -> int:
        """One, and one more for a batch."""
        return 1 if self._read_for is self._fine else 2

    @property
    def is_divisible(self) -> bool:
        """True: a floor that some segments share is no higher than the floor of all."""
        return True

    def statistics(self, view: SegmentView, total: Certain | None, selection: Selection) -> Certain:
        """For every query cosines that as many spans are certain to reach, and the sets of these spans."""
        bounds = self._bounds(view, selection)
        if total is None:
            return bounds.certain
        runs = bounds.runs_over(total)
        queries, spans = _exact(bounds.scan, self.vectors, self._fine, total.cosines[:, 0], runs, selection)
        groups = _groups(view, spans.starts, selection)
        return Certain.of_one_set(_best_of_groups(len(self.vectors), queries, groups, spans.cosines, selection.top_k))

    def total(self, parts: Sequence[Certain], selection: Selection) -> Certain:
        """The cosine that the last selected span of every query is certain to reach, and the set that proves it.

        It is -inf if there may be too few spans.
        """
        none = Certain.of_one_set(np.zeros((len(self.vectors), 0)))
        cosines, sets = (np.concatenate(column, axis=1) for column in zip(none, *parts, strict=True))
        count = int(sets.max(initial=0)) + 1
        floors = [kth_largest(np.where(sets == number, cosines, -np.inf), selection.top_k) for number in range(count)]
        best = np.argmax(floors, axis=0)
        return Certain(np.max(floors, axis=0)[:, None], best[:, None])

    def rows(self, view: SegmentView, total: Certain | None, selection: Selection) -> list[SpanRows]:
        """For every query the spans of a segment that may be selected."""
        scan = self._bounds(view, selection).scan
        self.memo.pop(view.name, None)
        certain = self.total([], selection) if total is None else total
        floors = np.maximum(certain.cosines[:, 0], self.floor(selection))
        queries, spans = _exact(scan, self.vectors, self._fine, floors, _may_reach(scan, floors), selection)
        bounds = np.searchsorted(queries, np.arange(len(self.vectors) + 1)).tolist()
        return [spans.take(slice(begin, end)) for begin, end in pairwise(bounds)]

    def within(self, view: SegmentView, allowed: Allowed, selection: Selection) -> list[SpanRows]:
        """The same for spans that start at some places of a segment, which has a floor of its own."""
        bounds = _Bounds.of(self.read(view, allowed, self._read_for), selection)
        self.memo[view.name] = bounds
        return self.rows(view, self.total([bounds.certain], selection), selection)

    def floor(self, selection: Selection) -> float:
        """The least score of a span."""
        return self.least if selection.floor is None else max(self.least, selection.floor)

    def take(self, query: int) -> "SpanScan":
        """One of the queries alone."""
        terms = None if self.terms is None else self.terms.of_query(query)
        return replace(self, vectors=self.vectors[query : query + 1], terms=terms, memo=Memo())

    @cached_property
    def _fine(self) -> CodedQueries:
        return code_queries(self.vectors, _FINE, self.terms)

    @cached_property
    def _read_for(self) -> CodedQueries:
        return code_queries(self.vectors, COARSE, self.terms) if len(self.vectors) >= self.batch_from else self._fine

    def _bounds(self, view: SegmentView, selection: Selection) -> "_Bounds":
        return self.memo.once(
            view.name,
            lambda: _Bounds.of(self.read(view, view.allowed(selection.filter), self._read_for), selection),
        )


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The scan of a segment, and the lower bounds of its best runs, with the numbers of these runs."""

    scan: SegmentScan
    certain: Certain
    runs: Int[np.ndarray, "queries _some"]

    @classmethod
    def of(cls, scan: SegmentScan, selection: Selection) -> "_Bounds":
        """The bounds of a scan."""
        lower = scan.lower
        count = lower.shape[1]
        if selection.group_by != "span":
            peaks = scan.peak.reshape(lower.shape)
            queries = np.repeat(np.arange(len(lower)), count)
            groups = owners(scan.view.segment, peaks.reshape(-1), selection)
            best = _best_of_groups(len(lower), queries, groups, lower.reshape(-1), selection.top_k)
            return cls(scan, Certain.of_one_set(best), np.zeros((len(lower), 0), np.int64))
        # Every ``stride``-th run makes a set. Of some set the best k runs are among the best ``stride * k`` of all.
        stride = stride_of(scan.view)
        width = stride * selection.top_k
        if width < count:
            runs = np.argpartition(lower, count - width, axis=1)[:, count - width :]
            lower = lower[np.arange(len(lower))[:, None], runs]
        else:
            runs = np.tile(np.arange(count), (len(lower), 1))
        return cls(scan, Certain(lower, scan.run_numbers[runs] % stride), runs)

    def runs_over(self, total: Certain) -> Bool[np.ndarray, "queries chosen runs"]:
        """The runs, of the set that proves the floor of a query, that are certain to reach it."""
        shape = self.scan.best.shape
        if not self.runs.shape[1]:
            lower = self.scan.lower
            return ((lower >= total.cosines) & (lower > -np.inf)).reshape(shape)
        cosines, sets = self.certain
        certain = (cosines >= total.cosines) & (cosines > -np.inf) & (sets == total.sets)
        over = np.zeros((shape[0], shape[1] * shape[2]), np.bool_)
        np.put_along_axis(over, self.runs, certain, axis=1)
        return over.reshape(shape)


def code_queries(queries: QueryVectors, most: int = _FINE, terms: SpanTerms | None = None) -> CodedQueries:
    """Queries as integers of up to ``most``. By Cauchy and Schwarz no cosine moves by more than the error's length.

    Without terms, scores are cosines.
    """
    terms = SpanTerms.none(len(queries)) if terms is None else terms
    largest = np.abs(queries).max(axis=1, initial=0)
    most = min(most, (2**31 - 1) // (127 * queries.shape[1]))  # no dot product may overflow int32
    steps = np.where(largest > 0, largest, 1).astype(np.float32) / np.float32(most)
    codes = np.rint(queries / steps[:, None]).astype(np.int16 if most > COARSE else np.int8)
    slack = np.linalg.norm(queries - codes * steps[:, None].astype(np.float64), axis=1)
    return CodedQueries(codes, steps, slack + terms.rounding, terms)


def errors(
    view: SegmentView, blocks: Int[np.ndarray, " chosen"], slack: Float[np.ndarray, "*queries"]
) -> Float[np.ndarray, "*errors"]:
    """The error bound of approximate cosines in a block, for queries with this slack."""
    of_norms = view.segment.norm_errors[blocks].astype(np.float64) + _ROUNDING
    return of_norms * (1 + slack) + slack


def _groups(view: SegmentView, starts: Int[np.ndarray, " spans"], selection: Selection) -> Int[np.ndarray, " spans"]:
    """Numbers that tell apart the runs, documents or parts of spans."""
    return starts // kernels.RUN if selection.group_by == "span" else owners(view.segment, starts, selection)


def _best_of_groups(
    queries: int,
    of_query: Int[np.ndarray, " rows"],
    groups: Int[np.ndarray, " rows"],
    cosines: Float[np.ndarray, " rows"],
    most: int,
) -> Float[np.ndarray, "queries _some"]:
    """For every query the best cosines of its best groups, in any order; filled up by -inf.

    ``of_query`` has the query of every row.
    """
    order = np.lexsort((groups, of_query))
    of_query, groups, cosines = of_query[order], groups[order], cosines[order]
    first = np.append(True, (of_query[1:] != of_query[:-1]) | (groups[1:] != groups[:-1]))[: len(order)]
    firsts = np.flatnonzero(first)
    of_query, best = of_query[firsts], np.maximum.reduceat(cosines, firsts) if len(firsts) else np.zeros(0)
    counts = np.bincount(of_query, minlength=queries)
    ranks = np.arange(len(of_query)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((queries, counts.max(initial=0)), -np.inf)
    table[of_query, ranks] = best
    return _largest(table, min(most, table.shape[1]))


def kth_group(cosines: Float[np.ndarray, " rows"], groups: Int[np.ndarray, " rows"], k: int) -> float:
    """The k-th largest of the groups' best cosines."""
    return float(kth_largest(_best_of_groups(1, np.zeros_like(groups), groups, cosines, k), k)[0])


def kth_largest(values: Float[np.ndarray, "*rows values"], k: int) -> Float[np.ndarray, "*rows"]:
    """The k-th largest of every row; -inf where a row has fewer."""
    count = values.shape[-1]
    if not 0 < k <= count:
        return np.full(values.shape[:-1], -np.inf)
    return np.partition(values, count - k, axis=-1)[..., count - k]


def _largest(values: Float[np.ndarray, "rows values"], width: int) -> Float[np.ndarray, "rows {width}"]:
    """The largest values of every row, in any order."""
    rest = values.shape[-1] - width
    return np.partition(values, rest, axis=-1)[..., rest:] if rest else values


def _exact(
    scan: SegmentScan,
    queries: QueryVectors,
    fine: CodedQueries,
    floors: Float[np.ndarray, " queries"],
    runs: Bool[np.ndarray, "queries chosen runs"],
    selection: Selection,
) -> tuple[Int[np.ndarray, " spans"], SpanRows]:
    """The spans of some runs of a segment that may reach the floor of a query, with exact cosines; and that query."""
    segment = scan.view.segment
    owners, positions, numbers = np.nonzero(runs)
    blocks = scan.allowed.blocks[positions]
    kept = first_of_equal(scan.view, scan.allowed, owners, blocks * kernels.RUNS + numbers, selection)
    owners, blocks, numbers = owners[kept], blocks[kept], numbers[kept]
    span_owners, spans = spans_of_runs(scan.view, scan.allowed, fine, owners, blocks, numbers, floors[owners])
    starts, ends = spans.T.astype(np.int64)
    cosines = kernels.rescore(segment.arrays, starts, ends, queries, span_owners, fine.terms)
    return span_owners, SpanRows(scan.view.name, starts, ends, cosines)


def spans_of_runs(
    view: SegmentView,
    allowed: Allowed,
    fine: CodedQueries,
    owners: Int[np.ndarray, " rows"],
    blocks: Int[np.ndarray, " rows"],
    runs: Int[np.ndarray, " rows"],
    floors: Float[np.ndarray, " rows"],
) -> tuple[Int[np.ndarray, " spans"], Int[np.ndarray, "spans 2"]]:
    """The spans of runs that may reach the floor of the run's query, and the query of every span."""
    segment = view.segment
    reach = floors - errors(view, blocks, fine.slack[owners])
    return kernels.spans_above(
        segment.arrays, fine.codes, fine.steps, fine.terms, owners, blocks * kernels.RUNS + runs, reach, allowed.mask
    )


def _may_reach(scan: SegmentScan, floors: Float[np.ndarray, " queries"]) -> Bool[np.ndarray, "queries chosen runs"]:
    """The runs whose best span may reach the query's floor."""
    reach = floors[:, None, None] - scan.error[:, :, None]
    return (scan.best > kernels.NO_SPAN) & (scan.best >= reach)
