"""Pauses between continuous writes, in which writers of other processes can take the lease.

A server takes the lease for each write. Between two writes it is free for microseconds only, too short for a process
that polls: an indexing job beside a busy server would starve.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_TURN_S = 2.0
_PAUSE_S = 0.1


class Turns:
    """Pauses before a job where jobs have followed each other closely for ``turn_s`` seconds.

    A stream of writes loses 5 % by it; writes that leave a gap by themselves lose nothing. For one thread.

    >>> now, pauses = [100.0], []
    >>> turns = Turns(pauses.append, clock=lambda: now[0])
    >>> for job in range(50):
    ...     with turns.turn():
    ...         now[0] += 0.1
    >>> pauses
    [0.1, 0.1]
    """

    def __init__(self, wait: Callable[[float], object], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._wait = wait
        self._clock = clock
        self._began = self._ended = clock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run one job."""
        self._pause()
        try:
            yield
        finally:
            self._ended = self._clock()

    def _pause(self) -> None:
        now = self._clock()
        gap = now - self._ended
        if gap < _PAUSE_S:
            if now - self._began < _TURN_S:
                return
            self._wait(_PAUSE_S - gap)
        self._began = self._clock()
