"""Rate limits of API keys, and when keys were last used; both in this process."""

import math
import time
from collections.abc import Callable
from typing import Final

from app.http.problems import RateLimited

RECORD_EVERY_S: Final = 600.0


class RateLimits:
    """A token bucket for each key: it holds a minute's requests and is refilled continuously.

    The event loop alone uses it. Only valid keys get here, so their number bounds its size.

    >>> limits = RateLimits(clock=iter([0.0, 0.0, 0.0, 30.0]).__next__)
    >>> limits.take("0a1b2c3d", 2), limits.take("0a1b2c3d", 2)
    (None, None)
    >>> limits.take("0a1b2c3d", 2)
    Traceback (most recent call last):
    app.http.problems.RateLimited: This API key allows 2 requests a minute.
    >>> limits.take("0a1b2c3d", 2)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key_id: str, rate: int) -> None:
        """Count a request of a key that allows ``rate`` a minute; raises ``RateLimited``."""
        now = self._clock()
        tokens, since = self._buckets.get(key_id, (float(rate), now))
        tokens = min(float(rate), tokens + (now - since) * rate / 60)
        self._buckets[key_id] = (tokens - 1 if tokens >= 1 else tokens, now)
        if tokens < 1:
            raise RateLimited(rate, retry_after_s=math.ceil((1 - tokens) * 60 / rate))


class KeyUses:
    """The keys whose last use is to be written: each at most once in ``RECORD_EVERY_S``.

    >>> uses = KeyUses(clock=iter([0.0, 1.0, 700.0]).__next__)
    >>> uses.note("0a1b2c3d"), uses.due()
    (None, frozenset({'0a1b2c3d'}))
    >>> uses.note("0a1b2c3d"), uses.due()
    (None, frozenset())
    >>> uses.note("0a1b2c3d"), uses.due()
    (None, frozenset({'0a1b2c3d'}))
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._noted: dict[str, float] = {}
        self._due: set[str] = set()

    def note(self, key_id: str) -> None:
        """A request has presented this key."""
        now = self._clock()
        if now - self._noted.get(key_id, -math.inf) >= RECORD_EVERY_S:
            self._noted[key_id] = now
            self._due.add(key_id)

    def due(self) -> frozenset[str]:
        """The keys to write now, once."""
        due, self._due = frozenset(self._due), set()
        return due
