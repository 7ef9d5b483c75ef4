"""Thousands of queries, each with a floor of its own, asked of one segment: what saved phrases are matched by.

The same kernels as the scan's, and so the same figures. What can be made of the queries once is made once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int, Int8, Int32

from indexer import kernels
from indexer.engine.query import Filter, Selection
from indexer.engine.scan import COARSE, CodedQueries, code_queries, errors, spans_of_runs
from indexer.engine.selection import ExactSpans, chosen_rows
from indexer.engine.snapshot import Allowed, SegmentView
from indexer.segments.columns import canonical
from models.types import QueryVectors

# How many runs of starts, for all queries together, are looked at in one pass: their figures take 12 bytes each.
_RUNS_A_PASS = 2**22
# Of how many runs, that may hold wanted spans, spans are scored at once. What one query wants is never torn apart.
_EXACT_RUNS = 2**13
_ALL = 2**62

_Packed = tuple[Int8[np.ndarray, "groups words lanes 4"], Int32[np.ndarray, "groups lanes"]]


@dataclass(frozen=True)
class ManyQueries:
    """Unit-length queries, and what the kernels read instead of them."""

    vectors: QueryVectors

    def __len__(self) -> int:
        return len(self.vectors)

    @cached_property
    def coded(self) -> CodedQueries:
        """The queries as int8."""
        return code_queries(self.vectors, COARSE)

    @cached_property
    def packed(self) -> _Packed:
        """These, as the registers take them."""
        return kernels.pack(self.coded.codes)


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of a segment that may hold spans over the floor of the query that asks for them, by query."""

    owners: Int[np.ndarray, " runs"]
    blocks: Int[np.ndarray, " runs"]
    runs: Int[np.ndarray, " runs"]

    def part(self, begin: int, end: int) -> "_Runs":
        return _Runs(self.owners[begin:end], self.blocks[begin:end], self.runs[begin:end])


def find_over(
    view: SegmentView, queries: ManyQueries, floors: Float[np.ndarray, " queries"], filters: Sequence[Filter]
) -> Iterator[tuple[int, ExactSpans]]:
    """Every query that has any, with all its spans that reach its floor, pass its filter and do not overlap.

    They are those that a scan with this floor and filter finds, were its ``top_k`` large enough. Nothing reaches an
    infinite floor.
    """
    allowed = view.allowed(Filter())
    if not len(allowed.blocks) or not np.isfinite(floors).any():
        return
    masks = _Masks(view)
    at_once = max(_RUNS_A_PASS // (len(allowed.blocks) * kernels.RUNS * kernels.LANES), 1) * kernels.LANES
    for begin in range(0, len(queries), at_once):
        found = _may_reach(view, allowed, queries, floors, slice(begin, min(begin + at_once, len(queries))))
        for part in _parts(found):
            yield from _exact(view, allowed, queries, floors, filters, part, masks)


def _may_reach(
    view: SegmentView,
    allowed: Allowed,
    queries: ManyQueries,
    floors: Float[np.ndarray, " queries"],
    these: slice,
) -> _Runs:
    """The runs that may hold spans over the floors of some of the queries, of which the first is a group's first."""
    segment, coded = view.segment, queries.coded
    words, first = queries.packed
    groups = slice(these.start // kernels.LANES, -(-these.stop // kernels.LANES))
    best, _ = kernels.scan_packed(
        segment.arrays,
        (words[groups], first[groups]),
        coded.steps[these],
        allowed.blocks,
        allowed.mask,
    )
    slack = errors(view, allowed.blocks, coded.slack[these, None])
    reach = floors[these, None] - slack
    owners, positions, runs = np.nonzero((best > kernels.NO_SPAN) & (best >= reach[:, :, None]))
    return _Runs(owners + these.start, allowed.blocks[positions], runs)


def _parts(found: _Runs) -> Iterator[_Runs]:
    """Runs in parts of about ``_EXACT_RUNS``, each with all runs of its queries."""
    firsts = np.append(np.flatnonzero(np.diff(found.owners, prepend=-1)), len(found.owners))
    begin = 0
    for end in firsts[1:].tolist():
        if end - begin >= _EXACT_RUNS or end == len(found.owners):
            yield found.part(begin, end)
            begin = end


def _exact(
    view: SegmentView,
    allowed: Allowed,
    queries: ManyQueries,
    floors: Float[np.ndarray, " queries"],
    filters: Sequence[Filter],
    found: _Runs,
    masks: "_Masks",
) -> Iterator[tuple[int, ExactSpans]]:
    """The wanted spans of the queries that ask for these runs, with exact cosines."""
    segment = view.segment
    asking, owners = np.unique(found.owners, return_inverse=True)
    vectors = queries.vectors[asking]
    fine = code_queries(vectors)
    wanted_by, spans = spans_of_runs(view, allowed, fine, owners, found.blocks, found.runs, floors[found.owners])
    passing = masks.passing([filters[query] for query in asking.tolist()], wanted_by, spans[:, 0])
    wanted_by, (starts, ends) = wanted_by[passing], spans[passing].T.astype(np.int64)
    cosines = kernels.rescore(segment.arrays, starts, ends, vectors, wanted_by)
    bounds = np.searchsorted(wanted_by, np.arange(len(asking) + 1)).tolist()
    for query, (begin, end) in zip(asking.tolist(), pairwise(bounds), strict=True):
        exact = ExactSpans(view, starts[begin:end], ends[begin:end], cosines[begin:end])
        chosen = chosen_rows(exact, Selection(_ALL, float(floors[query]), "span"))
        if len(chosen):
            yield query, exact.take(chosen)


class _Masks:
    """Where spans may start that pass a filter; each filter is asked for once."""

    def __init__(self, view: SegmentView) -> None:
        self._view = view
        self._known: dict[str, Bool[np.ndarray, " units"] | None] = {}

    def passing(
        self, filters: Sequence[Filter], owners: Int[np.ndarray, " spans"], starts: Int[np.ndarray, " spans"]
    ) -> Bool[np.ndarray, " spans"]:
        """Which spans pass the filters of their owners, by where they start."""
        passing = np.ones(len(starts), bool)
        for owner, wanted in enumerate(filters):
            mask = self._mask(wanted) if wanted else None
            if mask is not None:
                rows = slice(*np.searchsorted(owners, [owner, owner + 1]).tolist())
                passing[rows] = mask[starts[rows]]
        return passing

    def _mask(self, wanted: Filter) -> Bool[np.ndarray, " units"] | None:
        name = canonical([dict(wanted.document), dict(wanted.part)])
        if name not in self._known:
            self._known[name] = self._view.allowed(wanted).mask
        return self._known[name]
