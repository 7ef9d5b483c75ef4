"""The tunings of all collections, read from the catalog soon after they change."""

import time
from collections.abc import Callable
from threading import Lock

from indexer.catalog.collections import Catalog
from indexer.catalog.thresholds import read_tuning
from indexer.tuning import Tuning

# How old a tuning may be before the catalog is asked again.
FRESH_S = 0.25


class Tunings:
    """Safe to share between threads. What one caller has seen is one moment's, never half of two."""

    def __init__(self, catalog: Catalog, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._catalog = catalog
        self._clock = clock
        self._read: dict[tuple[str, str], tuple[Tuning, float]] = {}
        self._lock = Lock()

    def present(self, collection: str, mode: str) -> Tuning:
        """The collection's present tuning, at most ``FRESH_S`` behind the last change."""
        with self._lock:
            known = self._read.get((collection, mode))
            now = self._clock()
            if known is None or now - known[1] >= FRESH_S:
                known = self._read[collection, mode] = read_tuning(self._catalog, collection, mode), now
            return known[0]

    def forget(self) -> None:
        """Read again at the next call: who has changed something should see it at once."""
        with self._lock:
            self._read.clear()
