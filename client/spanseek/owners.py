"""Who owns connections: a process, and those of an asynchronous client an event loop of it.

A forked process that used its parent's connections would read its parent's answers; those of a loop end with it.
"""

import asyncio
import os
from contextlib import suppress
from typing import NamedTuple


class Owner(NamedTuple):
    """A process by its id, and an event loop of asyncio if there is one."""

    process: int
    loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_alive(self) -> bool:
        """False for the parent of this process, and for a loop that was closed."""
        return self.process == os.getpid() and not (self.loop is not None and self.loop.is_closed())


def process() -> Owner:
    """This process.

    >>> process().is_alive, Owner(process=0).is_alive
    (True, False)
    """
    return Owner(os.getpid())


def process_and_loop() -> Owner:
    """This process and the event loop that runs.

    >>> async def owner() -> Owner:
    ...     return process_and_loop()
    >>> asyncio.run(owner()).is_alive
    False
    """
    with suppress(RuntimeError):
        return Owner(os.getpid(), asyncio.get_running_loop())
    return Owner(os.getpid())
