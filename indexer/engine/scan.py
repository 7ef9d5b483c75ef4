"""The scan: every span of every segment, at the speed of memory, exact.

Three steps. The kernels give the best approximate cosine of every run of starts, with a bound on its error. These
yield a floor that no selected span lies under. Only spans that may reach it are scored exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Int8, Int16

from indexer import kernels
from indexer.arrays import SpanTerms
from indexer.engine.base import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.selection import ExactSpans, choose
from indexer.engine.snapshot import Allowed, SegmentView, Snapshot
from models.types import QueryVectors

# Largest component of a query as int16, and as int8.
_FINE, COARSE = 8191, 127
# From so many queries on, one batch of int8 is faster than one pass for each of int16.
_BATCH_FROM = 3
# Rounding errors besides those that ``norm_errors`` bounds.
_ROUNDING = 1e-5
# More than any segment has runs, parts or documents.
_SEGMENT = 2**40


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


class ScanEngine:
    """Exact search by a full scan; memory bandwidth is its limit."""

    name = "scan"

    def search(
        self, snapshot: Snapshot, queries: QueryVectors, selection: Selection, terms: SpanTerms | None = None
    ) -> list[list[ScoredSpan]]:
        """For every unit-length query its selected spans, best first. One pass over memory serves all queries."""
        return scan([(view, view.allowed(selection.filter)) for view in snapshot.views], queries, selection, terms)


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
            terms = coded.terms.take(slice(number, number + 1))
            best[number], peak[number] = kernels.scan(segment.arrays, code, step, terms, allowed.blocks, allowed.mask)
    return SegmentScan.of(view, allowed, best, peak, coded)


def scan(
    places: Sequence[tuple[SegmentView, Allowed]],
    queries: QueryVectors,
    selection: Selection,
    terms: SpanTerms | None = None,
    read: Callable[[SegmentView, Allowed, CodedQueries], SegmentScan] = read_segment,
    batch_from: int = _BATCH_FROM,
) -> list[list[ScoredSpan]]:
    """For every unit-length query its selected spans, of those that start at allowed places, best first.

    From ``batch_from`` queries on, a segment is read for queries of int8.
    """
    fine = code_queries(queries, _FINE, terms)
    coarse = code_queries(queries, COARSE, terms) if len(queries) >= batch_from else fine
    scans = [read(view, allowed, coarse) for view, allowed in places]
    floors = np.full(len(queries), -np.inf)
    if scans:
        disjoint, lower = _disjoint_runs(scans, selection), np.concatenate([scan.lower for scan in scans], axis=1)
        floors, sets = _floors(scans, lower, disjoint, selection)
        if coarse is not fine:
            runs = _runs_at_floor(scans, lower, disjoint[sets], floors)
            floors = _refined_floors(scans, queries, fine, floors, runs, selection)
    floors = np.maximum(floors, -np.inf if selection.floor is None else selection.floor)
    exact = [_exact(scanned, queries, fine, floors, _may_reach(scanned, floors)) for scanned in scans]
    return [choose([of_segment[number] for of_segment in exact], selection) for number in range(len(queries))]


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


def _disjoint_runs(scans: list[SegmentScan], selection: Selection) -> Bool[np.ndarray, "sets all_runs"]:
    """Sets of runs so far apart that no span overlaps the best spans of two runs of a set.

    So each of these survives the suppression, or is displaced by a survivor of its own that scores higher. Where hits
    are grouped by document or part, nothing is displaced, and one set holds all runs.
    """
    runs = np.concatenate([scan.run_numbers for scan in scans])
    if selection.group_by != "span":
        return np.ones((1, len(runs)), np.bool_)
    stride = 1 + -(-(2 * scans[0].view.segment.recipe.bounds.longest - 2) // kernels.RUN)
    turns = runs - runs // stride * stride  # numpy divides by a constant ten times faster than it takes remainders
    return turns == np.arange(stride)[:, None]


def _floors(
    scans: list[SegmentScan],
    lower: Float[np.ndarray, "queries all_runs"],
    disjoint: Bool[np.ndarray, "sets all_runs"],
    selection: Selection,
) -> tuple[Float[np.ndarray, " queries"], Int[np.ndarray, " queries"]]:
    """For every query a cosine that its last selected span is certain to reach, and the set of runs that proves it.

    The cosine is -inf where there may be too few spans.
    """
    if selection.group_by == "span":
        of_sets = np.stack([_kth_largest(np.where(runs, lower, -np.inf), selection.top_k) for runs in disjoint])
        return of_sets.max(axis=0), of_sets.argmax(axis=0)
    groups = (_groups(scans, selection, query) for query in range(len(lower)))
    floors = [kth_group(row, of_runs, selection.top_k) for row, of_runs in zip(lower, groups, strict=True)]
    return np.array(floors), np.zeros(len(lower), np.int64)


def _runs_at_floor(
    scans: list[SegmentScan],
    lower: Float[np.ndarray, "queries all_runs"],
    disjoint: Bool[np.ndarray, "queries all_runs"],
    floors: Float[np.ndarray, " queries"],
) -> list[Bool[np.ndarray, "queries _ runs"]]:
    """For every query the runs, of its set, that are certain to reach its floor, by segment."""
    certain = (lower >= floors[:, None]) & (lower > -np.inf) & disjoint
    ends = np.cumsum([len(scan.run_numbers) for scan in scans])[:-1]
    return [runs.reshape(scan.best.shape) for runs, scan in zip(np.split(certain, ends, axis=1), scans, strict=True)]


def _refined_floors(
    scans: list[SegmentScan],
    queries: QueryVectors,
    fine: CodedQueries,
    floors: Float[np.ndarray, " queries"],
    runs: list[Bool[np.ndarray, "queries _ runs"]],
    selection: Selection,
) -> Float[np.ndarray, " queries"]:
    """Floors from exact cosines of the same runs. They are higher by about the error of the scan."""
    exact = [_exact(scan, queries, fine, floors, of_scan) for scan, of_scan in zip(scans, runs, strict=True)]
    refined = floors.copy()
    for query, floor in enumerate(floors):
        segments = [of_scan[query] for of_scan in exact]
        cosines = np.concatenate([spans.cosines for spans in segments])
        groups = np.concatenate([_groups_of(number, spans, selection) for number, spans in enumerate(segments)])
        refined[query] = max(floor, kth_group(cosines, groups, selection.top_k))
    return refined


def _groups_of(number: int, spans: ExactSpans, selection: Selection) -> Int[np.ndarray, " spans"]:
    """Numbers that tell apart the runs, documents or parts of spans, through all segments."""
    group = (
        spans.starts // kernels.RUN if selection.group_by == "span" else _owners(spans.view, spans.starts, selection)
    )
    return group + number * _SEGMENT


def _groups(scans: list[SegmentScan], selection: Selection, query: int) -> Int[np.ndarray, " runs"]:
    """Numbers that tell apart the documents or parts of the best spans of all runs."""
    groups = [_owners(scan.view, scan.peak[query].reshape(-1), selection) for scan in scans]
    return np.concatenate([group + number * _SEGMENT for number, group in enumerate(groups)])


def _owners(view: SegmentView, units: Int[np.ndarray, " units"], selection: Selection) -> Int[np.ndarray, " units"]:
    """Of units, which part they belong to, or which document."""
    parts = np.searchsorted(view.segment.part_units, units, side="right") - 1
    return view.segment.part_document[parts] if selection.group_by == "document" else parts


def kth_group(cosines: Float[np.ndarray, " rows"], groups: Int[np.ndarray, " rows"], k: int) -> float:
    """The k-th largest of the groups' best cosines."""
    order = np.argsort(-cosines, kind="stable")
    firsts = np.unique(groups[order], return_index=True)[1]
    return float(_kth_largest(cosines[order[firsts]], k))


def _kth_largest(values: Float[np.ndarray, "*rows values"], k: int) -> Float[np.ndarray, "*rows"]:
    """The k-th largest of every row; -inf where a row has fewer."""
    count = values.shape[-1]
    if not 0 < k <= count:
        return np.full(values.shape[:-1], -np.inf)
    return np.partition(values, count - k, axis=-1)[..., count - k]


def _exact(
    scan: SegmentScan,
    queries: QueryVectors,
    fine: CodedQueries,
    floors: Float[np.ndarray, " queries"],
    runs: Bool[np.ndarray, "queries chosen runs"],
) -> list[ExactSpans]:
    """For every query the spans of some runs of a segment that may reach its floor, with their exact cosines."""
    segment = scan.view.segment
    owners, positions, numbers = np.nonzero(runs)
    blocks = scan.allowed.blocks[positions]
    span_owners, spans = spans_of_runs(scan.view, scan.allowed, fine, owners, blocks, numbers, floors[owners])
    starts, ends = spans.T.astype(np.int64)
    cosines = kernels.rescore(segment.arrays, starts, ends, queries, span_owners, fine.terms)
    bounds = np.searchsorted(span_owners, np.arange(len(queries) + 1)).tolist()
    return [ExactSpans(scan.view, starts[a:b], ends[a:b], cosines[a:b]) for a, b in pairwise(bounds)]


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
