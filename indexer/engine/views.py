"""What an executor reads: segments in order, each less its tombstones."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from jaxtyping import Bool, Int

from indexer.engine.filter_masks import documents_passing, parts_passing
from indexer.engine.query import Filter, Selection
from indexer.segments.kinds import Level
from indexer.segments.layout import BLOCK
from indexer.segments.reader import Segment
from indexer.segments.recent import Recent

# Filters whose starts a snapshot keeps, of one byte a unit.
_RECENT_FILTERS: Final = 8


@dataclass(frozen=True, slots=True)
class Allowed:
    """The allowed starts of spans: the blocks to read, and a mask over units unless all units are allowed."""

    blocks: Int[np.ndarray, " chosen"]
    mask: Bool[np.ndarray, " units"] | None


class SegmentView:
    """A segment less its tombstones."""

    def __init__(self, segment: Segment, tombstones: Int[np.ndarray, " dead"]) -> None:
        self.segment = segment
        self.tombstones = tombstones

    @cached_property
    def name(self) -> str:
        """The segment's name in its collection."""
        return self.segment.folder.name

    @cached_property
    def part_sizes(self) -> Int[np.ndarray, " parts"]:
        """The number of units of every part."""
        return np.diff(self.segment.part_units)

    @cached_property
    def _live(self) -> Allowed:
        return self._allow(self.live_documents[self.segment.part_document])

    def allowed(self, filter: Filter) -> Allowed:
        """The allowed starts of spans: in live documents, and parts, that pass a filter."""
        if not filter:
            return self._live
        return self._recent.get(filter.key, lambda: self._allow(self.passing_parts(filter)))

    def selects(
        self, starts: Int[np.ndarray, " spans"], ends: Int[np.ndarray, " spans"], selection: Selection
    ) -> Bool[np.ndarray, " spans"]:
        """A mask of the spans in units that start where a selection allows it, and have a length that it selects."""
        mask = self.allowed(selection.filter).mask
        selected = np.ones(len(starts), bool) if mask is None else mask[starts]
        return selected & selection.lengths.contain(ends - starts) if selection.lengths else selected

    def passing_documents(self, filter: Filter) -> Bool[np.ndarray, " documents"]:
        """A mask of the live documents that pass a filter; at least one part must meet its conditions on parts."""
        return self.live_documents & documents_passing(self.segment, filter)

    def passing_parts(self, filter: Filter) -> Bool[np.ndarray, " parts"]:
        """A mask of the parts that pass a filter, of live documents that do."""
        return self.live_documents[self.segment.part_document] & parts_passing(self.segment, filter)

    def in_reach(self, filter: Filter, level: Level) -> Bool[np.ndarray, " rows"] | None:
        """A mask of the documents, or parts, that answers may reveal; None for all, deleted ones included."""
        reach = filter.reach
        if not reach:
            return None
        return self.passing_parts(reach) if level == "part" else self.passing_documents(reach)

    @cached_property
    def _recent(self) -> Recent[Allowed]:
        return Recent(_RECENT_FILTERS)

    @cached_property
    def live_documents(self) -> Bool[np.ndarray, " documents"]:
        """A mask of the documents without a tombstone."""
        live = np.ones(self.segment.manifest.documents, bool)
        live[self.tombstones] = False
        return live

    def _allow(self, parts: Bool[np.ndarray, " parts"]) -> Allowed:
        units = self.segment.manifest.units
        blocks = -(-units // BLOCK)
        if parts.all():
            return Allowed(np.arange(blocks), None)
        mask = np.zeros(blocks * BLOCK, bool)
        mask[:units] = np.repeat(parts, self.part_sizes)
        return Allowed(np.flatnonzero(mask.reshape(blocks, BLOCK).any(axis=1)), mask[:units])


class Views:
    """The segments of a snapshot, in its order."""

    views: Sequence[SegmentView]

    @cached_property
    def has_windows(self) -> bool:
        """True if a segment has windows for candidates."""
        return any(len(view.segment.windows) for view in self.views)
