"""Executors in tests: one that reads every segment in another process, and searches by any of them."""

import pickle
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from indexer.arrays import SpanTerms
from indexer.engine.executor import Executor
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.errors import SegmentsUnreachable
from indexer.segments.manifest import SegmentKey
from indexer.segments.opened import open_segment
from models.errors import SpanseekError
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


def on_cluster() -> list[Any]:
    """The cluster of all tests as a parameter; none where the plug-in is not installed."""
    if find_spec("spanseek_ray") is None:
        return []
    from plugins.ray.tests.shared_cluster import CLUSTER

    return [pytest.param(CLUSTER, marks=pytest.mark.slow("starts a cluster"))]


ON_CLUSTER = on_cluster()


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
