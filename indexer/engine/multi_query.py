"""Many queries, each with its own floor, against one segment: how saved phrases are matched.

The kernels are the scan's, and so the cosines are the same. Queries are coded and packed once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int, Int8, Int32

from indexer import kernels
from indexer.arrays import SpanTerms
from indexer.engine.executor import SegmentQuery
from indexer.engine.query import Filter, Selection
from indexer.engine.rows import SpanRows, no_rows
from indexer.engine.scan import COARSE, CodedQueries, code_queries, errors, spans_of_runs
from indexer.engine.selection import over_floor, selected_rows
from indexer.engine.views import Allowed, SegmentView
from models.interruption import checked
from models.types import QueryVectors

# Runs of starts, over all queries, that one pass scores; each takes 12 bytes.
_RUNS_A_PASS = 2**22
# Runs whose spans are scored exactly at once. The runs of one query stay together.
_EXACT_RUNS = 2**13

_Packed = tuple[Int8[np.ndarray, "groups words lanes 4"], Int32[np.ndarray, "groups lanes"]]


@dataclass(frozen=True)
class QueryBatch:
    """Unit-length queries and their terms, coded and packed for the kernels. Without terms, scores are cosines."""

    vectors: QueryVectors
    terms: SpanTerms | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    @cached_property
    def coded(self) -> CodedQueries:
        """The queries as int8."""
        return code_queries(self.vectors, COARSE, self.terms)

    @cached_property
    def packed(self) -> _Packed:
        """The coded queries in the layout of the registers."""
        return kernels.pack(self.coded.codes)


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of a segment that may hold spans over the floor of their query, by query."""

    owners: Int[np.ndarray, " runs"]
    blocks: Int[np.ndarray, " runs"]
    runs: Int[np.ndarray, " runs"]

    def part(self, begin: int, end: int) -> "_Runs":
        return _Runs(self.owners[begin:end], self.blocks[begin:end], self.runs[begin:end])


def spans_over_floors(
    view: SegmentView, queries: QueryBatch, floors: Float[np.ndarray, " queries"], filters: Sequence[Filter]
) -> Iterator[tuple[int, SpanRows]]:
    """Every query that has spans which reach its floor, pass its filter and do not overlap, with these spans.

    They are those that a scan with this floor and filter and a large ``top_k`` returns. Nothing reaches an infinite
    floor. Where all queries have one filter, only what passes it is read.
    """
    if not (floors < np.inf).any():
        return
    # Blocks that a filter of all queries leaves out are not read.
    is_common = not any(filters) or len({filter.key for filter in filters}) == 1
    allowed = view.allowed(filters[0] if is_common else Filter())
    if not len(allowed.blocks):
        return
    masks = _Masks(view)
    at_once = max(_RUNS_A_PASS // (len(allowed.blocks) * kernels.RUNS * kernels.LANES), 1) * kernels.LANES
    for begin in checked(range(0, len(queries), at_once)):
        runs = _may_reach(view, allowed, queries, floors, slice(begin, min(begin + at_once, len(queries))))
        for part in _parts(runs):
            yield from _exact(view, allowed, queries, floors, () if is_common else filters, part, masks)


@dataclass(frozen=True, slots=True)
class SpansOverFloor(SegmentQuery[None, list[SpanRows]]):
    """All spans over one floor for many queries: segments are read one after the other, and share nothing.

    Of each segment there are the rows that a selection can take.
    """

    queries: QueryBatch
    floor: float

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """For every query its rows in a segment."""
        count = len(self.queries)
        found = [no_rows(view.name)] * count
        floors, filters = np.full(count, self.floor), [selection.filter] * count
        for query, spans in spans_over_floors(view, self.queries, floors, filters):
            is_more = len(spans) > selection.top_k or selection.group_by != "span"
            found[query] = spans.take(selected_rows(view.segment, spans, selection)) if is_more else spans
        return found


def _may_reach(
    view: SegmentView,
    allowed: Allowed,
    queries: QueryBatch,
    floors: Float[np.ndarray, " queries"],
    batch: slice,
) -> _Runs:
    """The runs that may hold spans over the floors of a batch of queries; it begins with a group of lanes."""
    segment, coded = view.segment, queries.coded
    words, first = queries.packed
    groups = slice(batch.start // kernels.LANES, -(-batch.stop // kernels.LANES))
    best, _ = kernels.scan_packed(
        segment.arrays,
        (words[groups], first[groups]),
        coded.steps[batch],
        coded.terms.take(batch),
        allowed.blocks,
        allowed.mask,
    )
    slack = errors(view, allowed.blocks, coded.slack[batch, None])
    reach = floors[batch, None] - slack
    owners, positions, runs = np.nonzero((best > kernels.NO_SPAN) & (best >= reach[:, :, None]))
    return _Runs(owners + batch.start, allowed.blocks[positions], runs)


def _parts(runs: _Runs) -> Iterator[_Runs]:
    """Runs in parts of about ``_EXACT_RUNS``, each with all runs of its queries."""
    firsts = np.append(np.flatnonzero(np.diff(runs.owners, prepend=-1)), len(runs.owners))
    begin = 0
    for end in firsts[1:].tolist():
        if end - begin >= _EXACT_RUNS or end == len(runs.owners):
            yield runs.part(begin, end)
            begin = end


def _exact(
    view: SegmentView,
    allowed: Allowed,
    queries: QueryBatch,
    floors: Float[np.ndarray, " queries"],
    filters: Sequence[Filter],
    runs: _Runs,
    masks: "_Masks",
) -> Iterator[tuple[int, SpanRows]]:
    """The selected spans of the queries of these runs, with exact cosines."""
    segment = view.segment
    numbers, owners = np.unique(runs.owners, return_inverse=True)
    vectors = queries.vectors[numbers]
    fine = code_queries(vectors, terms=queries.coded.terms.take(numbers))
    span_owners, spans = spans_of_runs(view, allowed, fine, owners, runs.blocks, runs.runs, floors[runs.owners])
    if filters:
        passing = masks.passing([filters[query] for query in numbers.tolist()], span_owners, spans[:, 0])
        span_owners, spans = span_owners[passing], spans[passing]
    starts, ends = spans.T.astype(np.int64)
    cosines = kernels.rescore(segment.arrays, starts, ends, vectors, span_owners, fine.terms)
    bounds = np.searchsorted(span_owners, np.arange(len(numbers) + 1)).tolist()
    for query, (begin, end) in zip(numbers.tolist(), pairwise(bounds), strict=True):
        exact = SpanRows(view.name, starts[begin:end], ends[begin:end], cosines[begin:end])
        reaching = over_floor(segment, exact, float(floors[query]))
        if len(reaching):
            yield query, reaching


class _Masks:
    """The starts of spans that pass a filter; each filter is evaluated once."""

    def __init__(self, view: SegmentView) -> None:
        self._view = view
        self._masks: dict[str, Bool[np.ndarray, " units"] | None] = {}

    def passing(
        self, filters: Sequence[Filter], owners: Int[np.ndarray, " spans"], starts: Int[np.ndarray, " spans"]
    ) -> Bool[np.ndarray, " spans"]:
        """A mask of the spans that pass the filters of their phrases, by their starts."""
        passing = np.ones(len(starts), bool)
        for owner, filter in enumerate(filters):
            mask = self._mask(filter) if filter else None
            if mask is not None:
                rows = slice(*np.searchsorted(owners, [owner, owner + 1]).tolist())
                passing[rows] = mask[starts[rows]]
        return passing

    def _mask(self, filter: Filter) -> Bool[np.ndarray, " units"] | None:
        name = filter.key
        if name not in self._masks:
            self._masks[name] = self._view.allowed(filter).mask
        return self._masks[name]
