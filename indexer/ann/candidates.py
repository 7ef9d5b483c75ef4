"""Search where it pays to look: near the windows that come nearest to the query, in segments that have windows."""

from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Int

from indexer.engine.base import ScoredSpan
from indexer.engine.scan import ScanEngine, scan
from indexer.engine.snapshot import Allowed, SegmentView, Snapshot
from indexer.engine.wanted import Selection
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from models.types import QueryVectors

if TYPE_CHECKING:
    from indexer.ann.windows import WindowIndex

# Windows looked up in every segment, at least, and for every span that is wanted.
_WINDOWS, _WINDOWS_A_SPAN = 1_000, 100
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
        if not any(len(view.segment.windows) for view in snapshot.views):
            return self._scan.search(snapshot, queries, wanted)
        near = [self._near(view, queries, wanted) for view in snapshot.views]
        return [
            scan(
                [(view, places[number]) for view, places in zip(snapshot.views, near, strict=True)],
                queries[number : number + 1],
                wanted,
            )[0]
            for number in range(len(queries))
        ]

    def _near(self, view: SegmentView, queries: QueryVectors, wanted: Selection) -> list[Allowed]:
        """For every query, where in a segment to look for it."""
        allowed = view.allowed(wanted.filter)
        if not len(view.segment.windows) or len(allowed.blocks) <= self._few_blocks:
            return [allowed] * len(queries)
        index = self._open(view.segment)
        count = self._count(view, allowed, wanted)
        if count >= index.windows:
            return [allowed] * len(queries)
        return [_around(starts, allowed) for starts in index.nearest(queries, count)]

    def _count(self, view: SegmentView, allowed: Allowed, wanted: Selection) -> int:
        """How many windows to look up: the more, the more spans are wanted, and the fewer blocks may hold them."""
        share = len(allowed.blocks) / len(view.segment.norm_codes)
        return int(max(self._windows, _WINDOWS_A_SPAN * wanted.top_k) / share)

    def _open(self, segment: Segment) -> "WindowIndex":
        # Imported here because scanning needs no FAISS.
        from indexer.ann.windows import open_windows

        with self._lock:
            if segment not in self._opened:
                self._opened[segment] = open_windows(segment)
            return self._opened[segment]


def _around(starts: Int[np.ndarray, " windows"], allowed: Allowed) -> Allowed:
    """The allowed blocks in which windows start."""
    blocks = np.unique(starts[starts >= 0] // BLOCK)
    return Allowed(np.intersect1d(blocks, allowed.blocks, assume_unique=True), allowed.mask)
