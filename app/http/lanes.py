"""Lanes: one thread that serves many callers in batches, behind a bounded queue.

A server has one lane to encode and one to scan; behind these, one that writes documents and one that tunes thresholds.
They share the cores without fighting over them, callers that come together are served together, and when too many wait
the next is told so at once.
"""

import logging
import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from app.search.errors import QueueFull, ShuttingDown

Item = TypeVar("Item")
Result = TypeVar("Result")

_log = logging.getLogger(__name__)
# How far a lane of low priority, and the threads that are started in it, stand behind those of searches.
_NICENESS = 10


class Lane(Generic[Item, Result]):
    """Runs ``work`` on batches of at most ``batch`` items; at most ``limit`` items wait. ``begin`` runs once, before.

    >>> with Lane("double", lambda items: [2 * item for item in items]) as lane:
    ...     lane.submit(21).result()
    42
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        *,
        limit: int = 256,
        batch: int = 32,
        begin: Callable[[], object] = lambda: None,
    ) -> None:
        self._work = work
        self._batch = batch
        self._begin = begin
        self._waiting: queue.Queue[tuple[Item, Future[Result]] | None] = queue.Queue(limit)
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"lane-{name}", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Lane[Item, Result]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def waiting(self) -> int:
        """How many items wait, about."""
        return self._waiting.qsize()

    def submit(self, item: Item) -> "Future[Result]":
        """Queue an item. Raises ``QueueFull`` where too many wait; a cancelled future's item is never worked on."""
        future: Future[Result] = Future()
        with self._lock:
            if self._closed:
                raise ShuttingDown("The server is shutting down.", hint="Send the request again in a moment.")
            try:
                self._waiting.put_nowait((item, future))
            except queue.Full:
                raise QueueFull(
                    f"{self._waiting.maxsize} requests are waiting already.",
                    hint="Send fewer at once, or retry later.",
                ) from None
        return future

    def close(self) -> None:
        """Finish what is queued, then stop."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        self._begin()
        while self._take_turn():
            pass

    def _take_turn(self) -> bool:
        """Wait for work and do it; False at the end. Between turns nothing is kept of what was served."""
        first = self._waiting.get()
        if first is None:
            return False
        batch, last = self._gather(first)
        self._serve(batch)
        return not last

    def _gather(self, first: tuple[Item, "Future[Result]"]) -> tuple[list[tuple[Item, "Future[Result]"]], bool]:
        """What waits already, without waiting for more; and whether the end was among it."""
        batch = [first]
        while len(batch) < self._batch:
            try:
                queued = self._waiting.get_nowait()
            except queue.Empty:
                break
            if queued is None:
                return batch, True
            batch.append(queued)
        return batch, False

    def _serve(self, batch: list[tuple[Item, "Future[Result]"]]) -> None:
        wanted = [(item, future) for item, future in batch if future.set_running_or_notify_cancel()]
        if not wanted:
            return
        try:
            results = list(self._work([item for item, _ in wanted]))
            if len(results) != len(wanted):
                raise AssertionError(f"{len(wanted)} items were worked on, {len(results)} results came")
        except BaseException as error:  # noqa: BLE001  whatever happened, the callers must hear of it
            _log.debug("a batch of %d failed", len(wanted), exc_info=True)
            for _, future in wanted:
                future.set_exception(error)
            return
        for (_, future), result in zip(wanted, results, strict=True):
            future.set_result(result)


def step_back() -> None:
    """What a lane of low priority begins with."""
    if sys.platform == "linux":  # elsewhere it would be the whole process that steps back
        os.nice(_NICENESS)
