"""Approximate search for spans with exact rescoring, near the windows that are nearest to the query."""

from collections.abc import Collection, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Bool, Float32, Int

from indexer.arrays import SpanTerms
from indexer.engine.base import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.scan import ScanEngine, scan
from indexer.engine.snapshot import Allowed, Snapshot
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from models.types import QueryVectors

if TYPE_CHECKING:
    from indexer.ann.windows import WindowIndex

# The number of windows taken is this factor times the fourth root of their total; the share of the lists visited is the
# other factor divided by it (ADR 8).
_WINDOWS, _VISITED = 40, 8.0
# Least number of windows for every span of ``top_k``.
_WINDOWS_A_SPAN = 100
# With at most this many allowed blocks, a scan is as fast.
_FEW_BLOCKS = 1_000


class CandidateEngine:
    """Approximate search for spans with exact cosines, for collections that are too large to scan.

    Segments without windows, and those with few units after filtering, are scanned: there the search is exact.
    """

    name = "candidates"

    def __init__(self, *, windows: int = _WINDOWS, few_blocks: int = _FEW_BLOCKS) -> None:
        self._windows = windows
        self._few_blocks = few_blocks
        self._scan = ScanEngine()
        self._opened: WeakKeyDictionary[Segment, "WindowIndex"] = WeakKeyDictionary()
        self._lock = Lock()

    def search(
        self, snapshot: Snapshot, queries: QueryVectors, selection: Selection, terms: SpanTerms | None = None
    ) -> list[list[ScoredSpan]]:
        """For every unit-length query its selected spans, best first."""
        near = self._near(snapshot, queries, selection)
        if near is None:
            return self._scan.search(snapshot, queries, selection, terms)
        return [
            self._search_one(snapshot, places, queries, selection, terms, slice(number, number + 1))
            for number, places in enumerate(near)
        ]

    def _search_one(
        self,
        snapshot: Snapshot,
        places: list[Allowed],
        queries: QueryVectors,
        selection: Selection,
        terms: SpanTerms | None,
        row: slice,
    ) -> list[ScoredSpan]:
        allowed = list(zip(snapshot.views, places, strict=True))
        return scan(allowed, queries[row], selection, None if terms is None else terms.take(row))[0]

    def _near(self, snapshot: Snapshot, queries: QueryVectors, selection: Selection) -> list[list[Allowed]] | None:
        """The blocks of every segment to scan for every query; None for all."""
        allowed = [view.allowed(selection.filter) for view in snapshot.views]
        indexes = {
            number: self._open(view.segment)
            for number, (view, places) in enumerate(zip(snapshot.views, allowed, strict=True))
            if len(view.segment.windows) and len(places.blocks) > self._few_blocks
        }
        windows = sum(index.windows for index in indexes.values())
        count = self._count(windows, _share(snapshot, allowed, indexes), selection)
        if count >= windows:
            return None
        visited = min(1.0, _VISITED / windows**0.25)
        nearest = {
            number: index.nearest(queries, min(count, index.windows), visited) for number, index in indexes.items()
        }
        return [_places(allowed, nearest, query, count) for query in range(len(queries))]

    def _count(self, windows: int, share: float, selection: Selection) -> int:
        """The number of windows to take: more for a larger ``top_k``, and if fewer blocks are allowed."""
        return int(max(self._windows * windows**0.25, _WINDOWS_A_SPAN * selection.top_k) / share)

    def _open(self, segment: Segment) -> "WindowIndex":
        # Imported late: scanning does not need FAISS.
        from indexer.ann.windows import open_windows

        with self._lock:
            if segment not in self._opened:
                self._opened[segment] = open_windows(segment)
            return self._opened[segment]


Starts = Int[np.ndarray, "queries count"]
Cosines = Float32[np.ndarray, "queries count"]


def _share(snapshot: Snapshot, allowed: Sequence[Allowed], of: Collection[int]) -> float:
    """The share of blocks in which spans may start; 1 without any blocks."""
    chosen = sum(len(allowed[number].blocks) for number in of)
    return chosen / sum(len(snapshot.views[number].segment.norm_codes) for number in of) if chosen else 1.0


def _places(
    allowed: Sequence[Allowed], nearest: Mapping[int, tuple[Starts, Cosines]], query: int, count: int
) -> list[Allowed]:
    """The blocks to scan for a query: those of the nearest windows of all segments."""
    cosines = np.concatenate([of[query] for _, of in nearest.values()])
    floor = np.partition(cosines, len(cosines) - count)[len(cosines) - count] if len(cosines) > count else -np.inf
    places = list(allowed)
    for number, (starts, of) in nearest.items():
        places[number] = _around(starts[query], of[query] >= floor, allowed[number])
    return places


def _around(starts: Int[np.ndarray, " count"], near: Bool[np.ndarray, " count"], allowed: Allowed) -> Allowed:
    """The allowed blocks in which near windows start."""
    blocks = np.unique(starts[near & (starts >= 0)] // BLOCK)
    return Allowed(np.intersect1d(blocks, allowed.blocks, assume_unique=True), allowed.mask)
