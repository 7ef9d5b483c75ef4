"""The times of recent answers, which say when an answer is late."""

from collections import deque
from threading import Lock
from typing import Final

import numpy as np

_KEPT: Final = 200
# Answers after which the percentile is computed, and computed again: that takes longer than to send a request.
_ENOUGH: Final = 20


class RecentTimes:
    """The seconds of the last answers. Safe to share between threads.

    >>> times = RecentTimes()
    >>> times.late_after() is None
    True
    >>> for number in range(100):
    ...     times.add(number / 1000)
    >>> round(times.late_after(), 3), round(times.median(), 3)
    (0.094, 0.05)
    """

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_KEPT)
        self._late_after: float | None = None
        self._added = 0
        self._lock = Lock()

    def add(self, seconds: float) -> None:
        """Add an answer."""
        with self._lock:
            self._seconds.append(seconds)
            self._added += 1
            if self._added % _ENOUGH == 0:
                self._late_after = float(np.quantile(self._seconds, 0.95))

    def late_after(self) -> float | None:
        """The 95th percentile, of a few answers ago; None while there are too few."""
        return self._late_after

    def median(self) -> float:
        """The median; 0 without answers."""
        with self._lock:
            return float(np.median(self._seconds)) if self._seconds else 0.0
