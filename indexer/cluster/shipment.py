"""How a view of a segment travels to an actor: by its place and checksum, and what is deleted of it."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from indexer.engine.snapshot import SegmentView
from indexer.segments.manifest import SegmentKey
from indexer.segments.opened import open_segment

# What tells views apart, on every node.
ViewKey: TypeAlias = bytes


@dataclass(frozen=True, slots=True)
class Shipment:
    """A view that an actor can open. Picklable."""

    segment: SegmentKey
    tombstones: Int[np.ndarray, " dead"]

    @classmethod
    def of(cls, view: SegmentView) -> "Shipment":
        """The shipment of a view."""
        return cls(view.segment.key, view.tombstones)

    @property
    def key(self) -> ViewKey:
        """Equal for equal views: a digest of the segment's place and checksum, and of what is deleted of it."""
        digest = blake2b(f"{self.segment.folder} {self.segment.manifest_sha256} ".encode(), digest_size=16)
        digest.update(self.tombstones.tobytes())
        return digest.digest()

    def open(self) -> SegmentView:
        """The view, opened in this process. Raises ``SegmentCorrupt``."""
        return SegmentView(open_segment(*self.segment), self.tombstones)
