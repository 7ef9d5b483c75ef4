"""Lanes: one thread that serves many callers in batches, behind a bounded queue; and the deadlines of callers.

A server has one lane to encode and one to scan; behind these, one that writes documents and one that tunes thresholds.
Lanes share the cores without competing for them. Callers that arrive together are served together, and a full queue
refuses the next caller at once.
"""

import asyncio
import logging
import math
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from app.search.errors import DeadlineExceeded, QueueFull, ShuttingDown
from models.interruption import Interrupted, interruptible
from models.priority import lower_priority

Item = TypeVar("Item")
Result = TypeVar("Result")
Job: TypeAlias = Callable[[], Result]

_log = logging.getLogger(__name__)


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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._item_s = 0.0  # seconds that an item of the last batch took
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
        """The approximate number of waiting items."""
        return self._waiting.qsize()

    def submit(self, item: Item, within: float = math.inf) -> "Future[Result]":
        """Queue an item. Raises ``QueueFull``; the item of a cancelled future is skipped.

        It also raises ``QueueFull`` if those that wait will take longer than ``within`` seconds, as the last one did.
        """
        future: Future[Result] = Future()
        if self._waiting.qsize() * self._item_s > within:
            raise QueueFull(
                f"What waits already will take longer than the {within:.3g} s that are left.",
                hint="Retry later, or send fewer at once.",
            )
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
        """Finish queued items, then stop."""
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
        """Wait for work and do it; False at the end. No reference to a served item remains between turns."""
        first = self._waiting.get()
        if first is None:
            return False
        batch, last = self._gather(first)
        self._serve(batch)
        return not last

    def _gather(self, first: tuple[Item, "Future[Result]"]) -> tuple[list[tuple[Item, "Future[Result]"]], bool]:
        """The waiting items, and True if the end was among them."""
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
        running = [(item, future) for item, future in batch if future.set_running_or_notify_cancel()]
        if not running:
            return
        started = self._clock()
        try:
            results = list(self._work([item for item, _ in running]))
            if len(results) != len(running):
                raise AssertionError(f"{len(running)} items gave {len(results)} results")
        except BaseException as error:  # noqa: BLE001  callers must receive every error
            _log.debug("a batch of %d failed", len(running), exc_info=True)
            for _, future in running:
                future.set_exception(error)
            return
        finally:
            self._item_s = (self._clock() - started) / len(running)
        for (_, future), result in zip(running, results, strict=True):
            future.set_result(result)


class JobLane(Lane[Job[Any], Any]):
    """A lane of low priority that runs functions, one at a time.

    >>> with JobLane("write", timeout="Not written within {seconds:g} s.", hint="Retry.") as lane:
    ...     asyncio.run(lane.run(lambda: 42, deadline_s=10))
    42
    """

    def __init__(
        self,
        name: str,
        *,
        timeout: str,
        hint: str,
        limit: int = 256,
        finishes: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._timeout = timeout
        self._hint = hint
        self._finishes = finishes
        super().__init__(name, _run_jobs, limit=limit, batch=1, begin=lower_priority, clock=clock)

    async def run(self, job: Job[Result], deadline_s: float) -> Result:
        """Run a job. Raises ``DeadlineExceeded``, and ``QueueFull`` at once if those that wait will take longer.

        A job that has started then ends at its next checkpoint, or at its end in a lane that ``finishes``.
        """
        gone = threading.Event()
        run = job if self._finishes else partial(_run_until, gone, job)
        try:
            async with self.deadline(deadline_s):
                result: Result = await asyncio.wrap_future(self.submit(run, deadline_s))
        except BaseException:
            gone.set()
            raise
        return result

    def deadline(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """Raise the lane's ``DeadlineExceeded`` if the block takes longer."""
        return deadline(seconds, self._timeout.format(seconds=round(seconds, 2)), hint=self._hint)


async def run_in_lane(lane: Lane[Item, Result], job: Item, deadline_s: float, message: str, *, hint: str) -> Result:
    """The result of a job in a lane. Raises ``DeadlineExceeded``; a job that has not started is dropped."""
    async with deadline(deadline_s, message, hint=hint):
        return await asyncio.wrap_future(lane.submit(job))


@asynccontextmanager
async def deadline(seconds: float, message: str, *, hint: str) -> AsyncIterator[None]:
    """Raise ``DeadlineExceeded`` if the block takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise DeadlineExceeded(message, hint=hint) from None


def _run_until(gone: threading.Event, job: Job[Result]) -> Result:
    def check() -> None:
        if gone.is_set():
            raise Interrupted

    with interruptible(check):
        return job()


def _run_jobs(jobs: Sequence[Job[Any]]) -> list[Any]:
    return [job() for job in jobs]
