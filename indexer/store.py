"""Collections on disk: the catalog's rows joined to the segments' folders."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock

from indexer.catalog.collections import Catalog
from indexer.catalog.phrase_rows import read_phrase_set
from indexer.catalog.thresholds import read_tuning
from indexer.engine.snapshot import Snapshot, open_snapshot
from indexer.errors import CollectionNotFound, SegmentCorrupt
from indexer.phrases import PhraseSets
from indexer.tuning import Tunings
from indexer.types import Collection

# Longer than it takes to open a snapshot after reading in the catalog what is live.
GRACE_S = 10.0
# Units from which on a collection is too large to scan.
CANDIDATES_FROM = 8_000_000
# How long withdrawn matches are kept for those who read events.
WITHDRAWN_S = 30 * 86_400.0
# How old a snapshot may be before the catalog is asked for a newer generation.
FRESH_S = 0.25


class Store:
    """Opens snapshots, and opens the next one soon after a new generation is published.

    ``tunings`` has the calibrations and thresholds in force, ``phrases`` the saved phrases. ``grace_s`` is how long the
    files of retired segments are kept for those who are about to open them, and ``withdrawn_s`` how long withdrawn
    matches are for those who have yet to read of it. Of collections of ``candidates_from`` units
    and more, large segments get windows, which say where to look.
    """

    def __init__(
        self,
        data_dir: Path,
        catalog: Catalog,
        *,
        grace_s: float = GRACE_S,
        candidates_from: int = CANDIDATES_FROM,
        withdrawn_s: float = WITHDRAWN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.data_dir = data_dir
        self.catalog = catalog
        self.grace_s = grace_s
        self.candidates_from = candidates_from
        self.withdrawn_s = withdrawn_s
        self.tunings = Tunings(partial(read_tuning, catalog), clock=clock)
        self.phrases = PhraseSets(partial(read_phrase_set, catalog))
        self._clock = clock
        self._snapshots: dict[str, _Opened] = {}
        self._lock = Lock()

    def folder(self, collection: Collection) -> Path:
        """Where a collection's segments lie."""
        return self.data_dir / "collections" / collection.id

    def snapshot(self, name: str) -> Snapshot:
        """The collection's present snapshot, at most ``FRESH_S`` behind what was last published."""
        with self._lock:
            opened = self._snapshots.get(name)
            now = self._clock()
            if opened and now - opened.checked_at < FRESH_S:
                return opened.snapshot
            fresh = self._present(name, opened)
            self._snapshots[name] = replace(fresh, checked_at=now)
            return fresh.snapshot

    def refresh(self) -> None:
        """Release snapshots of old generations and of deleted collections, which keep space on the disk."""
        for name in tuple(self._snapshots):
            with suppress(CollectionNotFound):
                self.snapshot(name)

    def forget(self, name: str) -> None:
        """Release what is kept in memory of a collection that was deleted."""
        with self._lock:
            self._snapshots.pop(name, None)
        self.tunings.forget()

    def _present(self, name: str, opened: "_Opened | None") -> "_Opened":
        """The snapshot that is open if it is still the present one, else a new one."""
        try:
            version = self.catalog.version(name)
        except CollectionNotFound:
            self._snapshots.pop(name, None)
            raise
        if opened and version == (opened.collection_id, opened.snapshot.generation):
            return opened
        collection = self.catalog.collection(name)
        return _Opened(self._open(collection), collection.id)

    def _open(self, collection: Collection) -> Snapshot:
        live = self.catalog.live_generation(collection.name)
        try:
            return open_snapshot(self.folder(collection), collection.recipe, live)
        except SegmentCorrupt:
            self.catalog.collection(collection.name)  # raises where it was deleted while its files were opened
            raise


@dataclass(frozen=True, slots=True)
class _Opened:
    """A snapshot, the id of its collection, and when it was last the present one."""

    snapshot: Snapshot
    collection_id: str
    checked_at: float = 0.0
