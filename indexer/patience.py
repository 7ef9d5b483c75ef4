"""Wait for one's turn to write to a collection, for a limited time."""

import random
import time
from collections.abc import Callable
from typing import Final, TypeAlias

from indexer.errors import CollectionBusy
from models.interruption import checkpoint

# Whether to try again to take a lease that another writer holds; it may wait first.
Busy: TypeAlias = Callable[[CollectionBusy], bool]

# The first pause, and the longest: shorter than the pauses of processes that write without end (``app.http.turns``,
# ``app.tasks.uploads``), so that none of these is missed.
_FIRST_S: Final = 0.01
LONGEST_PAUSE_S: Final = 0.05


class Patience:
    """Says whether to try again, after a short sleep, until its time is up; the time begins with the first refusal.

    Pauses grow and are drawn by chance, so that many who wait do not ask the catalog all at once.

    >>> patience = Patience(0.05)
    >>> refusals = 1
    >>> while patience(CollectionBusy("somebody writes")):
    ...     refusals += 1
    >>> refusals > 1
    True
    """

    def __init__(
        self,
        seconds: float,
        *,
        stop: Callable[[], bool] = lambda: False,
        begin: Callable[[CollectionBusy], None] = lambda error: None,
    ) -> None:
        self._seconds = seconds
        self._stop = stop
        self._begin = begin
        self._deadline: float | None = None
        self._longest = _FIRST_S

    def __call__(self, error: CollectionBusy) -> bool:
        """Sleep, and return whether to try again. A wait within interruptible work can be interrupted."""
        pause = self.pause(error)
        if pause is None:
            return False
        checkpoint()
        time.sleep(pause)
        return True

    def pause(self, error: CollectionBusy) -> float | None:
        """The seconds until the next try, for callers that sleep themselves; None if there is none."""
        if self._seconds <= 0 or self._stop():
            return None
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._seconds
            self._begin(error)
        left = self._deadline - now
        if left <= 0:
            return None
        pause = random.uniform(self._longest / 2, self._longest)  # noqa: S311  no secret
        self._longest = min(2 * self._longest, LONGEST_PAUSE_S)
        return min(pause, left)


def refuse(error: CollectionBusy) -> bool:
    """Return False: do not wait for another writer."""
    return False


def later(error: CollectionBusy) -> bool:
    """Return False: do not wait here. The caller tries again, and its place in the lease queue is kept."""
    return False
