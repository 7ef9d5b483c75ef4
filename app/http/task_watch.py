"""Requests that wait for the end of tasks hold futures and no threads. One look at the catalog serves all of them."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from app.http.pools import Places, Pool
from app.tasks.answers import TaskDescription
from indexer.errors import TaskNotFound

# Seconds between two looks, for tasks that other servers run; this one says when one has ended.
_PAUSE_S: Final = 0.25

Read = Callable[[Collection[str]], Mapping[str, TaskDescription]]


class TaskWatch:
    """Waits for tasks on the event loop; at most ``limit`` callers at once. ``read`` reads tasks by their ids."""

    def __init__(self, read: Read, pool: Pool, *, limit: int) -> None:
        self._read, self._pool = read, pool
        self._places = Places(limit, "{limit} requests wait for tasks already.")
        self._waiting: dict[str, set[asyncio.Future[TaskDescription]]] = {}
        self._latest: dict[str, TaskDescription] = {}
        self._looking: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()

    @property
    def waiting(self) -> int:
        """The number of callers that wait."""
        return sum(map(len, self._waiting.values()))

    def changed(self) -> None:
        """Look now: a task has ended. For any thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            if self._loop is not None and self._waiting:
                self._loop.call_soon_threadsafe(self._wake.set)

    async def wait(self, task: TaskDescription, seconds: float) -> TaskDescription:
        """The task, once it has ended or the time is up. Raises ``QueueFull``, and ``TaskNotFound`` if deleted."""
        if task.has_ended or seconds <= 0:
            return task
        with self._places.taken():
            future = self._begin(task.id)
            try:
                async with asyncio.timeout(seconds):
                    return await future
            except TimeoutError:
                return self._latest.get(task.id, task)
            finally:
                self._end(task.id, future)

    def _begin(self, id: str) -> "asyncio.Future[TaskDescription]":
        self._loop = asyncio.get_running_loop()
        future: asyncio.Future[TaskDescription] = self._loop.create_future()
        self._waiting.setdefault(id, set()).add(future)
        self._wake.set()  # it may have ended since it was read
        if self._looking is None:
            self._looking = self._loop.create_task(self._look())
        return future

    def _end(self, id: str, future: "asyncio.Future[TaskDescription]") -> None:
        future.cancel()
        self._waiting[id].discard(future)
        if not self._waiting[id]:
            del self._waiting[id]
            self._latest.pop(id, None)
        if not self._waiting and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE_S):
                    await self._wake.wait()
            self._wake.clear()
            ids = tuple(self._waiting)
            try:
                found = await self._pool.run(partial(self._read, ids))
            except Exception as error:  # noqa: BLE001  callers must receive every error
                self._tell(ids, lambda future, error=error: future.set_exception(error))  # type: ignore[misc]
            else:
                self._answer(ids, found)

    def _answer(self, ids: Collection[str], found: Mapping[str, TaskDescription]) -> None:
        for id in ids:
            task = found.get(id)
            if task is None:
                error = TaskNotFound(f"There is no task {id!r}", hint="List the tasks; old ones are forgotten.")
                self._tell([id], lambda future, error=error: future.set_exception(error))  # type: ignore[misc]
            elif task.has_ended:
                self._tell([id], lambda future, task=task: future.set_result(task))  # type: ignore[misc]
            elif id in self._waiting:
                self._latest[id] = task

    def _tell(self, ids: Collection[str], tell: Callable[["asyncio.Future[TaskDescription]"], None]) -> None:
        for future in [each for id in ids for each in self._waiting.get(id, ())]:
            if not future.done():
                tell(future)
