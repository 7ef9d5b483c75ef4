"""Values of the catalog that are kept in memory for a moment: a change is seen after ``FRESH_S`` at the latest."""

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

    ``read`` gets the key and the value read before, if any. A key whose reading fails is forgotten.

    >>> clock = iter([0.0, 0.1, 0.4]).__next__
    >>> counts = FreshValues(lambda key, before: (before or 0) + 1, clock=clock)
    >>> counts.get("a"), counts.get("a"), counts.get("a")
    (1, 1, 2)
    """

    def __init__(
        self, read: Callable[[Key, Value | None], Value], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._values: dict[Key, tuple[Value, float]] = {}
        self._lock = Lock()

    def get(self, key: Key) -> Value:
        """The value, read anew if it is not fresh."""
        with self._lock:
            now = self._clock()
            value, read_at = self._values.get(key, (None, -FRESH_S))
            if value is None or now - read_at >= FRESH_S:
                self._values.pop(key, None)
                value = self._read(key, value)
                self._values[key] = value, now
            return value

    def cached(self) -> tuple[Key, ...]:
        """The keys of the values in memory."""
        return tuple(self._values)

    def forget(self, key: Key | None = None) -> None:
        """Drop one value, or all, so that the next caller sees the present one."""
        with self._lock:
            if key is None:
                self._values.clear()
            else:
                self._values.pop(key, None)
