"""Collections: the catalog's rows joined to the segments, in folders or in a bucket."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.catalog.collections import Catalog
from indexer.catalog.past_generations import read_past
from indexer.catalog.phrase_rows import SpanScores, read_phrase_set
from indexer.catalog.thresholds import read_tuning
from indexer.engine.executor import Executor
from indexer.engine.past_snapshots import PastSnapshots
from indexer.engine.place import TextsOf
from indexer.engine.snapshot import Snapshot, open_snapshot
from indexer.errors import CollectionNotFound, CursorExpired, SegmentCorrupt
from indexer.freshness import FreshValues
from indexer.phrases import PhraseSets
from indexer.segments.local import LocalSegments
from indexer.segments.opened import quarantined_in
from indexer.segments.storage import Segments
from indexer.tuning import Tunings
from indexer.types import Collection, Recipe
from models.ops.span_score import COSINE

if TYPE_CHECKING:
    from models.verifier.verifier import Verifier

# Longer than opening a snapshot takes after reading its generation from the catalog.
GRACE_S = 10.0
# The number of units above which a collection is not scanned.
CANDIDATES_FROM = 8_000_000
# The time for which withdrawn matches are kept for readers of events.
WITHDRAWN_S = 30 * 86_400.0
# About 16 mappings each, of 65,530 that Linux allows a process.
OPEN_SEGMENTS = 2_000


class Store:
    """Opens snapshots, and opens the next one soon after a new generation is published.

    ``tunings`` has the calibrations and thresholds in force, ``phrases`` the saved phrases. ``grace_s`` is how long the
    files of retired segments are kept for those who are about to open them, and snapshots of old generations for those
    who read page by page; ``withdrawn_s`` is how long withdrawn matches are for those who have yet to read of it. Of
    collections of ``candidates_from`` units and more, large segments get windows, which say where to look.
    ``span_scores`` are the encoders': saved phrases are matched by them. ``executor`` makes what reads the snapshots.
    Those used least recently are released when more than ``open_segments`` segments would stay open. ``segments`` says
    where the segments lie, by default in the data folder.
    """

    def __init__(
        self,
        data_dir: Path,
        catalog: Catalog,
        *,
        grace_s: float = GRACE_S,
        candidates_from: int = CANDIDATES_FROM,
        withdrawn_s: float = WITHDRAWN_S,
        span_scores: SpanScores = lambda encoder, fingerprint: COSINE,
        executor: Callable[[], Executor] = Executor,
        open_segments: int = OPEN_SEGMENTS,
        segments: Segments | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.data_dir = data_dir
        self.catalog = catalog
        self.segments: Segments = segments or LocalSegments(data_dir / "collections")
        self.grace_s = grace_s
        self.candidates_from = candidates_from
        self.withdrawn_s = withdrawn_s
        # The verifier of a recipe, if it has one: it judges matches of saved phrases. Services set it.
        self.verifier: Callable[[Recipe], "Verifier | None"] = lambda recipe: None
        # The texts of a recipe without stored ones, restored. Services set it.
        self.texts: TextsOf | None = None
        self._make_executor = executor
        self.tunings = Tunings(partial(read_tuning, catalog), clock=clock)
        self.phrases = PhraseSets(partial(read_phrase_set, catalog, span_scores))
        self._past = PastSnapshots(grace_s, clock)
        self._snapshots: FreshValues[str, _Opened] = FreshValues(
            self._present,
            clock=clock,
            is_stale=self._is_stale,
            weight=lambda opened: len(opened.snapshot.views),
            limit=open_segments,
        )

    @cached_property
    def executor(self) -> Executor:
        """The executor that reads the snapshots, made with the first."""
        return self._make_executor()

    def close(self) -> None:
        """Close the executor and the catalog."""
        if "executor" in vars(self):
            self.executor.close()
        self.catalog.close()

    def folder(self, collection: Collection) -> Path:
        """The folder of a collection's segments on this machine."""
        return self.folder_of(collection.id)

    def folder_of(self, collection_id: str) -> Path:
        """The folder of the segments of a collection, given its id."""
        return self.segments.root / collection_id

    def snapshot(self, name: str) -> Snapshot:
        """The collection's current snapshot, at most a quarter of a second behind what other processes publish."""
        return self._snapshots.get(name).snapshot

    def snapshot_of(self, name: str, generation: int) -> Snapshot:
        """The snapshot of a generation of a collection.

        Raises ``CursorExpired`` if a newer generation followed it more than ``grace_s`` ago.
        """
        current = self._snapshots.get(name)
        if generation > current.snapshot.generation.number:  # another server knows of it already
            current = self._snapshots.renew(name)
        if current.snapshot.generation.number == generation:
            return current.snapshot
        id = current.collection_id
        past = self._past.find(id, generation) or self._opened_again(id, generation)
        if past is None:
            raise CursorExpired(
                f"The collection has changed, and its generation {generation} is no longer kept.",
                hint="Search again without a cursor. SPANSEEK_GRACE_S says how long a generation is kept.",
                field="cursor",
            )
        return past

    def _opened_again(self, collection_id: str, generation: int) -> Snapshot | None:
        """The snapshot of a past generation that this store did not hold, such as one of another server's cursor.

        None if it ended more than half of the grace period ago: what is left must suffice to open its files.
        """
        now, grace = self.catalog.clock(), timedelta(seconds=self.grace_s)
        past = read_past(self.catalog, collection_id, generation, now - grace / 2)
        if past is None:
            return None
        try:
            snapshot = open_snapshot(self.segments, past.generation, self.executor, self.texts)
        except SegmentCorrupt:
            return None
        if snapshot.damaged:
            return None
        self._past.keep(snapshot, (past.ended_at + grace - now).total_seconds())
        return snapshot

    def present(self, name: str) -> Snapshot:
        """The snapshot of the newest generation, for writers that hold the lease."""
        return self._snapshots.renew(name).snapshot

    def refresh(self) -> None:
        """Release snapshots of old generations and of deleted collections, which occupy disk space."""
        for name in self._snapshots.cached():
            with suppress(CollectionNotFound):
                self.snapshot(name)
        self._past.release()
        self.segments.refresh(self.catalog.segment_places)

    def forget(self, name: str) -> None:
        """Release all cached data of a deleted collection."""
        self._snapshots.forget(name)
        self.tunings.forget()

    def _is_stale(self, opened: "_Opened") -> bool:
        snapshot = opened.snapshot
        is_old = self.catalog.published.get(opened.collection_id, 0) > snapshot.generation.number
        return is_old or snapshot.is_out_of_reach

    def _present(self, name: str, opened: "_Opened | None") -> "_Opened":
        """The open snapshot if it is current, else a new one."""
        version = self.catalog.version(name)
        current = (opened.collection_id, opened.snapshot.generation.number) if opened else None
        if opened and version == current and not opened.snapshot.is_outdated():
            return opened
        if opened and current != version and opened.collection_id == version[0]:
            self._past.keep(opened.snapshot)
        return self._open(name)

    def _open(self, name: str) -> "_Opened":
        """The newest generation, opened: one whose files were removed meanwhile gives way to the next.

        Raises ``CollectionNotFound`` where it was deleted meanwhile.
        """
        while True:
            # One transaction reads the generation with its recipe: reindexing changes both.
            live = self.catalog.live_generation(name)
            read = live.collection_id, live.number
            try:
                snapshot = open_snapshot(self.segments, live, self.executor, self.texts)
            except SegmentCorrupt:
                if self.catalog.version(name) == read:
                    raise
                continue
            if not snapshot.damaged or self.catalog.version(name) == read:
                return _Opened(snapshot, live.collection_id)

    def damages(self, collection: Collection | None = None) -> tuple[str, ...]:
        """The damage of segments in quarantine, one sentence each; of one collection, or of all."""
        return quarantined_in(self.folder(collection) if collection else self.segments.root)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A snapshot and the id of its collection, since a name can be reused."""

    snapshot: Snapshot
    collection_id: str
