"""Values of the catalog that are kept in memory for a moment: a change is seen after ``FRESH_S`` at the latest."""

import math
import time
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

# Seconds for which a value is used without asking the catalog again.
FRESH_S = 0.25

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class FreshValues(Generic[Key, Value]):
    """Values by key, read again when they are older than ``FRESH_S``. Safe to share between threads.

    ``read`` gets the key and the value read before, if any. A value that ``is_stale`` is read again at once. A key
    whose reading fails is forgotten. Beyond ``limit``, in which each value counts by its ``weight``, those that were
    used least recently are forgotten, too.

    >>> clock = iter([0.0, 0.1, 0.4]).__next__
    >>> counts = FreshValues(lambda key, before: (before or 0) + 1, clock=clock)
    >>> counts.get("a"), counts.get("a"), counts.get("a")
    (1, 1, 2)
    """

    def __init__(
        self,
        read: Callable[[Key, Value | None], Value],
        *,
        clock: Callable[[], float] = time.monotonic,
        is_stale: Callable[[Value], bool] = lambda value: False,
        weight: Callable[[Value], int] = lambda value: 1,
        limit: float = math.inf,
    ) -> None:
        self._read, self._clock = read, clock
        self._is_stale, self._weight, self._limit = is_stale, weight, limit
        # The least recently used one is the first.
        self._values: dict[Key, tuple[Value, float]] = {}
        self._lock = Lock()

    def get(self, key: Key) -> Value:
        """The value, read anew if it is not fresh."""
        with self._lock:
            now = self._clock()
            value, read_at = self._values.pop(key, (None, -FRESH_S))
            if value is None or now - read_at >= FRESH_S or self._is_stale(value):
                value, read_at = self._read(key, value), now
                self._make_room(self._weight(value))
            self._values[key] = value, read_at
            return value

    def _make_room(self, weight: int) -> None:
        weights = {key: self._weight(value) for key, (value, _) in self._values.items()}
        excess = sum(weights.values()) + weight - self._limit
        for key, released in weights.items():
            if excess <= 0:
                break
            del self._values[key]
            excess -= released

    def cached(self) -> tuple[Key, ...]:
        """The keys of the values in memory."""
        return tuple(self._values)

    def renew(self, key: Key) -> Value:
        """The value, read anew however fresh it is."""
        with self._lock:
            if key in self._values:
                self._values[key] = self._values[key][0], -math.inf
        return self.get(key)

    def forget(self, key: Key | None = None) -> None:
        """Drop one value, or all, so that the next caller sees the present one."""
        with self._lock:
            if key is None:
                self._values.clear()
            else:
                self._values.pop(key, None)
