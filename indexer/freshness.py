"""Values of the catalog that are kept in memory for a moment: a change is seen after ``FRESH_S`` at the latest."""

import math
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

# Seconds for which a value is used without asking the catalog again.
FRESH_S = 0.25

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class FreshValues(Generic[Key, Value]):
    """Values by key, read again when they are older than ``FRESH_S``. Safe to share between threads.

    One thread at a time reads a key, and those who ask for others do not wait for it.

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
        # The locks of keys that are asked for now, and how many ask.
        self._asked: dict[Key, tuple[Lock, int]] = {}
        self._forgotten = 0

    def get(self, key: Key) -> Value:
        """The value, read anew if it is not fresh."""
        with self._alone(key):
            return self._get(key, math.inf)

    def renew(self, key: Key) -> Value:
        """The value, read anew however fresh it is."""
        with self._alone(key):
            return self._get(key, 0.0)

    def _get(self, key: Key, fresh_s: float) -> Value:
        """Return a value at most ``fresh_s`` and ``FRESH_S`` seconds old. The caller is the only reader of the key."""
        with self._lock:
            now, forgotten = self._clock(), self._forgotten
            value, read_at = self._values.pop(key, (None, -math.inf))
            if value is not None and now - read_at < min(fresh_s, FRESH_S) and not self._is_stale(value):
                self._values[key] = value, read_at
                return value
        value = self._read(key, value)
        with self._lock:
            if forgotten == self._forgotten:  # else it may be the one that is to be forgotten
                self._make_room(self._weight(value))
                self._values[key] = value, now
        return value

    @contextmanager
    def _alone(self, key: Key) -> Iterator[None]:
        with self._lock:
            lock, waiting = self._asked.get(key, (Lock(), 0))
            self._asked[key] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, waiting = self._asked.pop(key)
                if waiting > 1:
                    self._asked[key] = lock, waiting - 1

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

    def forget(self, key: Key | None = None) -> None:
        """Drop one value, or all, so that the next caller sees the present one."""
        with self._lock:
            self._forgotten += 1
            if key is None:
                self._values.clear()
            else:
                self._values.pop(key, None)
