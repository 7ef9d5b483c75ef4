"""Snapshots of generations that newer ones have followed, kept for readers who are between two pages."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from indexer.engine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class _Past:
    snapshot: Snapshot
    until: float


class PastSnapshots:
    """Snapshots, each of which is kept for ``kept_s`` seconds unless told otherwise. Safe to share between threads.

    Their segments stay mapped, so that merges and removed files do not disturb readers.

    >>> from indexer.types import Generation, Recipe
    >>> past = PastSnapshots(10.0, clock=iter([0.0, 9.0, 11.0]).__next__)
    >>> past.keep(Snapshot(Generation(3, (), Recipe("hashing", "f1", dim=64), "c1"), ()))
    >>> past.find("c1", 3).generation.number, past.find("c1", 3)
    (3, None)
    """

    def __init__(self, kept_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept_s, self._clock = kept_s, clock
        self._past: list[_Past] = []
        self._lock = Lock()

    def keep(self, snapshot: Snapshot, kept_s: float | None = None) -> None:
        """Keep a snapshot for so long, without what its views have computed."""
        with self._lock:
            now = self._release()
            until = now + (self._kept_s if kept_s is None else kept_s)
            self._past.append(_Past(snapshot.without_caches(), until))

    def find(self, collection_id: str, generation: int) -> Snapshot | None:
        """The snapshot of a generation of a collection, if it is still kept, and no damage of it has become known."""
        with self._lock:
            self._release()
            kept = (each.snapshot for each in self._past if _identity(each.snapshot) == (collection_id, generation))
            return next((each for each in kept if not each.has_quarantined()), None)

    def release(self) -> None:
        """Release the snapshots whose time is over."""
        with self._lock:
            self._release()

    def _release(self) -> float:
        now = self._clock()
        self._past = [each for each in self._past if each.until > now]
        return now


def _identity(snapshot: Snapshot) -> tuple[str, int]:
    return snapshot.generation.collection_id, snapshot.generation.number
