"""Executors in tests: one that reads every segment in another process, and searches by any of them."""

import pickle
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from indexer.arrays import SpanTerms
from indexer.cluster.executor import RayExecutor
from indexer.cluster.peers import Peer
from indexer.cluster.shipment import Shipment
from indexer.engine.executor import ClusterOptions, Executor
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.errors import SegmentsUnreachable
from indexer.segments.manifest import SegmentKey
from indexer.segments.opened import open_segment
from indexer.segments.options import SegmentsOptions
from models.errors import SpanseekError
from models.fields import converted
from models.types import QueryVectors

Item = TypeVar("Item")


class ProcessExecutor(Executor):
    """Reads segments in two other processes: neighbours never share one.

    Queries, totals, selections and rows go there and back as pickles. A segment is opened there by its folder and name.
    """

    name = "processes"

    def each(self, snapshot: Snapshot, read: Callable[[SegmentView], Item]) -> list[Item]:
        task = pickle.dumps(read)
        sent: list[Future[bytes]] = []
        for number, view in enumerate(snapshot.views):
            # Tests draw borders that are not on disk.
            arguments = (*view.segment.key, view.tombstones, np.array(view.segment.borders), task)
            sent.append(self._processes[number % 2].submit(_read, *arguments))
        return [pickle.loads(future.result()) for future in sent]

    def close(self) -> None:
        for process in self._processes:
            process.shutdown()

    @cached_property
    def _processes(self) -> list[ProcessPoolExecutor]:
        return [ProcessPoolExecutor(1, mp_context=get_context("spawn")) for _ in range(2)]


def _read(folder: Path, manifest_sha256: str, tombstones: np.ndarray, borders: np.ndarray, task: bytes) -> bytes:
    segment = open_segment(folder, manifest_sha256)
    segment.borders = borders
    read: Callable[[SegmentView], Any] = pickle.loads(task)
    return pickle.dumps(read(SegmentView(segment, tombstones)))


class Without(Executor):
    """Reads in this process, without some segments."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self._reach = 0

    def lack(self, names: frozenset[str]) -> None:
        self._reach += names != self.names
        self.names = names

    @property
    def reach(self) -> int:
        return self._reach

    def unreachable(self, key: SegmentKey) -> SpanseekError | None:
        return SegmentsUnreachable(key.folder.name) if key.folder.name in self.names else None


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
# Two actors on this machine, which the first query starts: mark tests that ask it as slow.
CLUSTER = SharedCluster(ClusterOptions("local", actors=2, deadline_s=100.0), ship=Bordered.of)
ON_CLUSTER = pytest.param(CLUSTER, marks=pytest.mark.slow("starts a cluster"))


def found_by(
    executor: Executor,
    snapshot: Snapshot,
    queries: QueryVectors,
    selection: Selection,
    terms: SpanTerms | None = None,
) -> list[list[ScoredSpan]]:
    """For every query its selected spans, best first, at their places."""
    results = search(snapshot.read_by(executor), SpanScan(queries, terms), selection, len(queries))
    return [[snapshot.scored(row) for row in rows] for rows in results]
