"""Wait for one's turn to write to a collection, for a limited time."""

import time
from collections.abc import Callable

from indexer.errors import CollectionBusy

# Much shorter than the pauses of a server that writes without end (``app.http.turns``).
_POLL_S = 0.02


class Patience:
    """Says whether to try again, after a short sleep, until its time is up; the time begins with the first refusal.

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

    def __call__(self, error: CollectionBusy) -> bool:
        """Sleep, and return whether to try again."""
        if self._seconds <= 0 or self._stop():
            return False
        if self._deadline is None:
            self._deadline = time.monotonic() + self._seconds
            self._begin(error)
        time.sleep(_POLL_S)
        return time.monotonic() < self._deadline
