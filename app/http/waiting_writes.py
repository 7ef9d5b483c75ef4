"""Writes that wait for other processes: a line for each collection, whose first one tries again and again."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TypeVar

from indexer.errors import CollectionBusy
from indexer.patience import Patience

Result = TypeVar("Result")


class _Line:
    """The line of one collection; ``moved`` is when one who stood in it last had its turn."""

    def __init__(self) -> None:
        self.first = asyncio.Lock()
        self.moved = 0.0


class WaitingWrites:
    """Retries writes while another process writes to their collection, until ``wait_s`` after its line last moved.

    So no write is refused while the line moves, however long it is. ``stop`` ends all waits.
    """

    def __init__(self, wait_s: float, stop: Callable[[], bool]) -> None:
        self._wait_s, self._stop = wait_s, stop
        self._lines: defaultdict[str, _Line] = defaultdict(_Line)

    async def run(self, write: Callable[[], Awaitable[Result]]) -> Result:
        """The result of a write. Raises ``CollectionBusy`` when its time is up."""
        arrived = time.monotonic()
        try:
            return await write()
        except CollectionBusy as error:
            if self._wait_s <= 0:
                raise
            line = self._lines[error.collection]
        async with line.first:
            left = max(arrived, line.moved) + self._wait_s - time.monotonic()
            return await self._as_first(line, write, Patience(left, stop=self._stop))

    async def _as_first(self, line: _Line, write: Callable[[], Awaitable[Result]], patience: Patience) -> Result:
        while True:
            try:
                result = await write()
            except CollectionBusy as error:
                pause = patience.pause(error)
                if pause is None:
                    raise
                await asyncio.sleep(pause)
            else:
                line.moved = time.monotonic()
                return result
