"""Approximate search for spans with exact rescoring, near the windows that are nearest to the query."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Int8, UInt8

from indexer.engine.executor import AnyQuery, Executor, Memo, SegmentQuery, Step
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRows
from indexer.engine.scan import SpanScan
from indexer.engine.views import Allowed, SegmentView, Views
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment

if TYPE_CHECKING:
    from indexer.ann.row_index import RowIndex
    from indexer.ann.windows import WindowIndex

# The number of windows taken is this factor times the fourth root of their total; the share of the lists visited is the
# other factor divided by it (ADR 8).
_WINDOWS, _VISITED = 40, 8.0
# Least number of windows for every span of ``top_k``.
_WINDOWS_A_SPAN = 100
# With at most this many allowed blocks, a scan is as fast.
_FEW_BLOCKS = 1_000

# Opens the windows of a segment.
OpenWindows: TypeAlias = Callable[[Segment], "WindowIndex"]
# Opens an index as ``indexer.ann.row_index.open_row_index`` does.
OpenRows: TypeAlias = Callable[
    [Segment, str, UInt8[np.ndarray, " bytes"], Int8[np.ndarray, "rows dim"], Float32[np.ndarray, " rows"]], "RowIndex"
]
Nearest: TypeAlias = tuple[Int[np.ndarray, "queries count"], Float32[np.ndarray, "queries count"]]


@runtime_checkable
class Approximable(Protocol):
    """A query that an approximate one may stand for in a large collection."""

    def approximate(self) -> AnyQuery:
        """The approximate query, with rows and totals of the same kind."""


@runtime_checkable
class Indexed(Protocol):
    """An approximate query of rows that lie in an index of the segment."""

    def looked_up_by(self, open_rows: OpenRows) -> AnyQuery:
        """The same query, which opens the index by another function."""


class CandidateExecutor(Executor):
    """Approximate search for spans with exact cosines, for collections that are too large to scan.

    Segments without windows, and those with few units after filtering, are scanned: there the search is exact.
    """

    name = "candidates"

    def __init__(self, *, windows: int = _WINDOWS, few_blocks: int = _FEW_BLOCKS) -> None:
        self._windows = windows
        self._few_blocks = few_blocks

    def plan(self, snapshot: Views, query: AnyQuery, selection: Selection) -> AnyQuery:
        """A scan near the nearest windows, and what other queries have themselves approximated by."""
        if isinstance(query, SpanScan):
            return self.near(snapshot, query, selection)
        return query.approximate() if isinstance(query, Approximable) else query

    def near(self, snapshot: Views, query: SpanScan, selection: Selection) -> "SpanScan | NearSpans":
        """The scan near the nearest windows; of everything where these would be all."""
        if not snapshot.has_windows:
            return query
        windows, chosen, blocks = self.budget(snapshot, selection)
        share = chosen / blocks if chosen else 1.0
        # More windows for a larger ``top_k``, and if fewer blocks are allowed.
        count = int(max(self._windows * windows**0.25, _WINDOWS_A_SPAN * selection.top_k) / share)
        if count >= windows:
            return query
        return NearSpans(query, count, min(1.0, _VISITED / windows**0.25), self._few_blocks)

    def budget(self, snapshot: Views, selection: Selection) -> "Budget":
        """The windows and blocks of all segments."""
        parts = self.each(snapshot, Step(WindowBudget(self._few_blocks), selection))
        return Budget(*(sum(column) for column in zip(*parts, strict=True)))


class Budget(NamedTuple):
    """The windows of a segment, its blocks in which spans may start, and all of its blocks; 0 where it is scanned."""

    windows: int
    chosen: int
    blocks: int


@dataclass(frozen=True, slots=True)
class WindowBudget(SegmentQuery[None, Budget]):
    """The windows and blocks of segments with windows and more than a few allowed blocks."""

    few_blocks: int

    def rows(self, view: SegmentView, total: None, selection: Selection) -> Budget:
        """The budget of a segment."""
        if not has_candidates(view, selection, self.few_blocks):
            return Budget(0, 0, 0)
        return Budget(_windows(view).windows, len(view.allowed(selection.filter).blocks), len(view.segment.norm_codes))


@dataclass(frozen=True, slots=True)
class NearSpans(SegmentQuery[Float[np.ndarray, "queries some"], list[SpanRows]]):
    """The best spans of the blocks in which the ``count`` windows start that are nearest to a query, of all segments.

    A share ``visited`` of the inverted lists is looked through.
    """

    scan: SpanScan
    count: int
    visited: float
    few_blocks: int
    open_windows: OpenWindows | None = None
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def rounds(self) -> int:
        """One: windows of several segments compete."""
        return 1

    def statistics(
        self, view: SegmentView, total: Float[np.ndarray, "queries some"] | None, selection: Selection
    ) -> Float[np.ndarray, "queries some"]:
        """The cosines of the nearest windows; none where all is scanned."""
        nearest = self._nearest(view, selection)
        return np.zeros((len(self.scan.vectors), 0), np.float32) if nearest is None else nearest[1]

    def total(
        self, parts: Sequence[Float[np.ndarray, "queries _some"]], selection: Selection
    ) -> Float[np.ndarray, "queries some"]:
        """For every query the least cosine of the ``count`` nearest windows of all segments."""
        cosines = np.concatenate(parts, axis=1)
        rank = cosines.shape[1] - self.count
        return (
            np.partition(cosines, rank, axis=1)[:, rank : rank + 1] if rank > 0 else np.full((len(cosines), 1), -np.inf)
        )

    def rows(
        self, view: SegmentView, total: Float[np.ndarray, "queries some"] | None, selection: Selection
    ) -> list[SpanRows]:
        """For every query the spans of a segment that may be selected, one after the other."""
        nearest, allowed = self._nearest(view, selection), view.allowed(selection.filter)
        self.memo.pop(view.name, None)
        found: list[SpanRows] = []
        for query in range(len(self.scan.vectors)):
            places = allowed
            if nearest is not None and total is not None:
                starts, cosines = (of_all[query] for of_all in nearest)
                places = _around(starts, cosines >= total[query], allowed)
            found += self.scan.take(query).within(view, places, selection)
        return found

    def _nearest(self, view: SegmentView, selection: Selection) -> Nearest | None:
        return self.memo.once(view.name, lambda: self._look_up(view, selection))

    def _look_up(self, view: SegmentView, selection: Selection) -> Nearest | None:
        if not has_candidates(view, selection, self.few_blocks):
            return None
        index = _windows(view) if self.open_windows is None else self.open_windows(view.segment)
        return index.nearest(self.scan.vectors, min(self.count, index.windows), self.visited)


def has_candidates(view: SegmentView, selection: Selection, few_blocks: int) -> bool:
    """True for a segment with windows that allows spans to start in more than a few blocks."""
    return bool(len(view.segment.windows)) and len(view.allowed(selection.filter).blocks) > few_blocks


def _windows(view: SegmentView) -> "WindowIndex":
    # Imported late: scanning does not need FAISS.
    from indexer.ann.windows import open_windows

    return open_windows(view.segment)


def _around(starts: Int[np.ndarray, " count"], near: Bool[np.ndarray, " count"], allowed: Allowed) -> Allowed:
    """The allowed blocks in which near windows start."""
    blocks = np.unique(starts[near & (starts >= 0)] // BLOCK)
    return Allowed(np.intersect1d(blocks, allowed.blocks, assume_unique=True), allowed.mask)
