"""One cluster for all tests of a process."""

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from indexer.engine.views import SegmentView
from indexer.segments.options import SegmentsOptions
from models.fields import converted
from spanseek_ray.executor import RayExecutor
from spanseek_ray.peers import Peer
from spanseek_ray.settings import ClusterOptions
from spanseek_ray.shipment import Shipment


@dataclass(frozen=True, slots=True)
class Bordered(Shipment):
    """A view with its borders: tests draw some that are not on disk."""

    borders: np.ndarray

    @classmethod
    def of(cls, view: SegmentView, where: SegmentsOptions | None = None) -> "Bordered":
        where = where or BUCKETS.get(view.segment.folder.parents[1])
        return converted(Shipment.of(view, where), cls, borders=np.array(view.segment.borders))

    @property
    def key(self) -> bytes:
        return Shipment.key.fget(self) + blake2b(self.borders.tobytes(), digest_size=16).digest()

    def open(self) -> SegmentView:
        view = Shipment.open(self)
        view.segment.borders = self.borders
        return view


class SharedCluster(RayExecutor):
    """The cluster of all tests of a process, with which it ends."""

    @property
    def options(self) -> ClusterOptions:
        return self._options

    @property
    def actors(self) -> list[Peer]:
        return list(self._peers)

    def close(self) -> None:
        pass


# Of caches of buckets, by their folders, where actors read the same segments.
BUCKETS: dict[Path, SegmentsOptions] = {}
# Two actors on this machine, which the first query starts.
CLUSTER = SharedCluster(ClusterOptions("local", actors=2, deadline_s=100.0), ship=Bordered.of)
