"""Search where it pays to look: near the windows that come nearest to the query, in segments that have windows."""

from collections.abc import Collection, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Bool, Float32, Int

from indexer.engine.base import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.scan import ScanEngine, scan
from indexer.engine.snapshot import Allowed, Snapshot
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from models.types import QueryVectors

if TYPE_CHECKING:
    from indexer.ann.windows import WindowIndex

# Windows that are taken are so many times the fourth root of their number; the share of the lists that is visited is so
# much divided by it (ADR 8).
_WINDOWS, _VISITED = 40, 8.0
# Windows that are taken for every span that is wanted, at least.
_WINDOWS_A_SPAN = 100
# Where no more blocks than this may hold what is wanted, reading them all takes no longer than choosing among them.
_FEW_BLOCKS = 1_000


class CandidateEngine:
    """Exact figures of spans that are, nearly always, the best: the engine for what is too large to scan.

    Segments without windows are scanned whole, and so is any of which a filter leaves little: there it misses nothing.
    """

    name = "candidates"

    def __init__(self, *, windows: int = _WINDOWS, few_blocks: int = _FEW_BLOCKS) -> None:
        self._windows = windows
        self._few_blocks = few_blocks
        self._scan = ScanEngine()
        self._opened: WeakKeyDictionary[Segment, "WindowIndex"] = WeakKeyDictionary()
        self._lock = Lock()

    def search(self, snapshot: Snapshot, queries: QueryVectors, wanted: Selection) -> list[list[ScoredSpan]]:
        """For every unit-length query its wanted spans, best first."""
        near = self._near(snapshot, queries, wanted)
        if near is None:
            return self._scan.search(snapshot, queries, wanted)
        return [
            scan(list(zip(snapshot.views, places, strict=True)), queries[number : number + 1], wanted)[0]
            for number, places in enumerate(near)
        ]

    def _near(self, snapshot: Snapshot, queries: QueryVectors, wanted: Selection) -> list[list[Allowed]] | None:
        """For every query, where in every segment to look for it; None where that is everywhere."""
        allowed = [view.allowed(wanted.filter) for view in snapshot.views]
        indexes = {
            number: self._open(view.segment)
            for number, (view, places) in enumerate(zip(snapshot.views, allowed, strict=True))
            if len(view.segment.windows) and len(places.blocks) > self._few_blocks
        }
        windows = sum(index.windows for index in indexes.values())
        count = self._count(windows, _share(snapshot, allowed, indexes), wanted)
        if count >= windows:
            return None
        visited = min(1.0, _VISITED / windows**0.25)
        found = {
            number: index.nearest(queries, min(count, index.windows), visited) for number, index in indexes.items()
        }
        return [_places(allowed, found, query, count) for query in range(len(queries))]

    def _count(self, windows: int, share: float, wanted: Selection) -> int:
        """How many windows to take: the more, the more spans are wanted, and the fewer blocks may hold them."""
        return int(max(self._windows * windows**0.25, _WINDOWS_A_SPAN * wanted.top_k) / share)

    def _open(self, segment: Segment) -> "WindowIndex":
        # Imported here because scanning needs no FAISS.
        from indexer.ann.windows import open_windows

        with self._lock:
            if segment not in self._opened:
                self._opened[segment] = open_windows(segment)
            return self._opened[segment]


Starts = Int[np.ndarray, "queries count"]
Cosines = Float32[np.ndarray, "queries count"]


def _share(snapshot: Snapshot, allowed: Sequence[Allowed], of: Collection[int]) -> float:
    """The share of the blocks of some segments in which spans may start; 1 where there are none."""
    chosen = sum(len(allowed[number].blocks) for number in of)
    return chosen / sum(len(snapshot.views[number].segment.norm_codes) for number in of) if chosen else 1.0


def _places(
    allowed: Sequence[Allowed], found: Mapping[int, tuple[Starts, Cosines]], query: int, count: int
) -> list[Allowed]:
    """Where to look for a query: in the blocks of so many windows, the nearest of those found in all segments."""
    cosines = np.concatenate([of[query] for _, of in found.values()])
    floor = np.partition(cosines, len(cosines) - count)[len(cosines) - count] if len(cosines) > count else -np.inf
    places = list(allowed)
    for number, (starts, of) in found.items():
        places[number] = _around(starts[query], of[query] >= floor, allowed[number])
    return places


def _around(starts: Int[np.ndarray, " count"], near: Bool[np.ndarray, " count"], allowed: Allowed) -> Allowed:
    """The allowed blocks in which near windows start."""
    blocks = np.unique(starts[near & (starts >= 0)] // BLOCK)
    return Allowed(np.intersect1d(blocks, allowed.blocks, assume_unique=True), allowed.mask)
