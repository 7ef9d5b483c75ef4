"""Streams that wait for events hold futures and no threads. One look at the catalog serves all of them."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from app.http.pools import Places, Pool

# Seconds between two looks.
_PAUSE_S: Final = 0.5

Read = Callable[[Collection[str]], Mapping[str, int]]


class EventWatch:
    """Waits for events on the event loop; at most ``limit`` streams at once.

    ``read`` gives the number of the last event of collections by their ids.
    """

    def __init__(self, read: Read, pool: Pool, *, limit: int) -> None:
        self._read, self._pool = read, pool
        self.places = Places(limit, "{limit} streams are open already.")
        self._waiting: dict[str, dict[asyncio.Future[bool], int]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closing = False

    def close(self) -> None:
        """End all waits, and let streams end: the server stops. For any thread."""
        self.closing = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(self._release)

    async def wait(self, collection_id: str, after: int, seconds: float) -> bool:
        """True once a collection has an event with a number above ``after``; False when the time is up.

        Raises the errors of the catalog.
        """
        if self.closing:
            return False
        self._loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = self._loop.create_future()
        self._waiting.setdefault(collection_id, {})[future] = after
        if self._looking is None:
            self._looking = self._loop.create_task(self._look())
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            return False
        finally:
            self._end(collection_id, future)

    def _end(self, collection_id: str, future: "asyncio.Future[bool]") -> None:
        future.cancel()
        del self._waiting[collection_id][future]
        if not self._waiting[collection_id]:
            del self._waiting[collection_id]
        if not self._waiting and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def _release(self) -> None:
        for future in [each for waiting in self._waiting.values() for each in waiting]:
            if not future.done():
                future.set_result(False)

    async def _look(self) -> None:
        while True:
            ids = tuple(self._waiting)
            try:
                self._tell(await self._pool.run(partial(self._read, ids)))
            except Exception as error:  # noqa: BLE001  streams must receive every error
                for future in [each for id in ids for each in self._waiting.get(id, ())]:
                    if not future.done():
                        future.set_exception(error)
            await asyncio.sleep(_PAUSE_S)

    def _tell(self, last: Mapping[str, int]) -> None:
        for id, number in last.items():
            for future, after in self._waiting.get(id, {}).items():
                if number > after and not future.done():
                    future.set_result(True)
