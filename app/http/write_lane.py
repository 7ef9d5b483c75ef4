"""Writes of many callers: one at a time in a lane of low priority, beside the lanes of searches.

Merging runs in the same lane after the writes have been answered, one collection at a time.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from functools import partial
from typing import TypeAlias, TypeVar

from app.http.lanes import JobLane
from app.http.stages import Observe, unobserved
from app.http.waiting_writes import WaitingWrites
from app.search.errors import QueueFull, ShuttingDown
from indexer.errors import CollectionBusy, CollectionNotFound
from models.errors import SpanseekError

Result = TypeVar("Result")
# Of a collection, until it is to stop; False if some of it has to wait.
Tidy: TypeAlias = Callable[[str, Callable[[], bool]], bool]

_log = logging.getLogger(__name__)


class WriteLane:
    """Runs writes; the event loop never blocks. ``tidy`` is the maintenance of ``DocumentService``.

    A write to a collection that another process writes to leaves the lane, and is tried again for ``lease_wait_s``
    after the last one that had its turn: writes to other collections pass it.
    """

    def __init__(
        self,
        tidy: Tidy,
        *,
        queue_limit: int = 256,
        deadline_s: float = 60.0,
        lease_wait_s: float = 0.0,
        observe: Observe = unobserved,
    ) -> None:
        self._maintain, self._observe, self._deadline_s = tidy, observe, deadline_s
        self._closing = threading.Event()
        self._waiting = WaitingWrites(lease_wait_s, self._closing.is_set)
        self._untidy: set[str] = set()
        self._lane = JobLane(
            "write",
            timeout="Not written within {seconds:g} s; it may be yet.",
            hint="Retry, or send less at once: documents that have been written are skipped.",
            limit=queue_limit,
            finishes=True,
        )

    @property
    def waiting(self) -> Mapping[str, int]:
        """The number of waiting writes and other jobs."""
        return {"write": self._lane.waiting}

    def close(self) -> None:
        """Finish the queued writes, leave the merging to the next writer, then stop."""
        self._closing.set()
        self._lane.close()

    async def write(self, collection: str, job: Callable[[], Result]) -> Result:
        """Run a job that writes documents. Raises ``DeadlineExceeded``; a write that has started continues."""
        result = await self.run(job)
        self._queue_maintenance(collection)
        return result

    async def run(self, job: Callable[[], Result]) -> Result:
        """Run another job that encodes or writes. Raises ``DeadlineExceeded`` as that, and ``CollectionBusy``."""
        ends = time.monotonic() + self._deadline_s

        async def once() -> Result:
            timed = partial(copy_context().run, self._timed, job, time.perf_counter())
            return await self._lane.run(timed, ends - time.monotonic())

        async with self._lane.deadline(self._deadline_s):
            return await self._waiting.run(once)

    def _timed(self, job: Callable[[], Result], queued: float) -> Result:
        """Run a job, and observe its wait and, if it succeeds, its time. Merging is not observed."""
        started = time.perf_counter()
        self._observe("queue", started - queued)
        result = job()
        self._observe("write", time.perf_counter() - started)
        return result

    def tidy(self) -> None:
        """Queue the maintenance of every collection with pending merges or retired segments."""
        for collection in tuple(self._untidy):
            self._queue_maintenance(collection)

    def _queue_maintenance(self, collection: str) -> None:
        self._untidy.add(collection)
        try:
            self._lane.submit(partial(self._tidy_one, collection))
        except (QueueFull, ShuttingDown):
            _log.debug("maintenance of %s is postponed", collection)

    def _tidy_one(self, collection: str) -> None:
        """Run the maintenance of a collection; after a failure the next write tries again."""
        if collection not in self._untidy or self._closing.is_set():
            return
        try:
            if self._maintain(collection, self._closing.is_set):
                self._untidy.discard(collection)
        except (CollectionBusy, CollectionNotFound):  # the other writer will do it, or there is nothing left to do
            self._untidy.discard(collection)
        except SpanseekError as error:
            _log.warning("maintenance of %s failed: %s %s", collection, error, error.hint)
