"""Shipments of segment views to actors: the place of the segment, its checksum and its deleted documents."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from indexer.engine.views import SegmentView
from indexer.segments.manifest import SegmentKey
from indexer.segments.options import SegmentsOptions, shared_segments
from indexer.types import SegmentInfo

# What tells views apart, on every node.
ViewKey: TypeAlias = bytes


@dataclass(frozen=True, slots=True)
class Shipment:
    """A picklable reference to a view, which an actor can open. ``segment`` is the key of the front's open segment."""

    segment: SegmentKey
    info: SegmentInfo
    tombstones: Int[np.ndarray, " dead"]
    where: SegmentsOptions

    @classmethod
    def of(cls, view: SegmentView, where: SegmentsOptions | None = None) -> "Shipment":
        """The shipment of a view, by default of one in a folder."""
        key, of = view.segment.key, view.segment.manifest
        info = SegmentInfo(key.folder.name, key.manifest_sha256, of.documents, of.parts, of.units, of.bytes)
        return cls(key, info, view.tombstones, where or SegmentsOptions(key.folder.absolute().parents[1]))

    @property
    def collection_id(self) -> str:
        """The id of its collection."""
        return self.segment.folder.parent.name

    @property
    def key(self) -> ViewKey:
        """The key of the view: a digest of the segment's place, checksum and deletions. Equal views have equal keys."""
        place = f"{self.where} {self.collection_id} {self.info.name} {self.info.manifest_sha256} "
        digest = blake2b(place.encode(), digest_size=16)
        digest.update(self.tombstones.tobytes())
        return digest.digest()

    def open(self) -> SegmentView:
        """The view, opened in this process. Raises ``SegmentCorrupt`` and ``SegmentsUnavailable``."""
        return SegmentView(shared_segments(self.where).open(self.collection_id, self.info), self.tombstones)
