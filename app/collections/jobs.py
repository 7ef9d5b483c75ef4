"""Long work on collections, each kind written once: the command line, HTTP and tasks all run it here."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, Self

from app.encoders.encoders import Encoders
from app.services import Services
from indexer.archives.copies import older_copies
from indexer.catalog.leases import Lease, lease
from indexer.catalog.publish import remove
from indexer.catalog.replacement import unlike
from indexer.engine.located import find_documents
from indexer.engine.query import Filter
from indexer.errors import CollectionBusy, CollectionNotFound
from indexer.indexing.maintenance import Purged, Removed, optimize, purge, sweep
from indexer.indexing.matching import Rematched, rematch
from indexer.indexing.pipeline import IndexJob, IndexReport, JobHooks
from indexer.indexing.segment_maker import SegmentMaker
from indexer.patience import Busy, refuse
from indexer.reading.document_rows import passing_ids
from indexer.segments.storage import Segments
from indexer.sources import Record
from indexer.store import Store
from indexer.types import Collection
from models.encoders.registry import EncoderOptions
from models.entry_points import entry_points_of
from models.errors import ExtraMissing


@dataclass(frozen=True, slots=True)
class Optimized(Removed):
    """The segments that a merge replaced, and what is left of the collection on disk."""

    segments_left: int
    bytes_left: int


@dataclass(frozen=True, slots=True)
class Deletion:
    """The documents that were deleted, the first generation without them, and what a purge removed."""

    ids: frozenset[str]
    generation: int
    purged: Purged | None = None


def built_beside(collection_id: str) -> str:
    """The name of the collection in which the collection of this id is reindexed."""
    return f"reindex-{collection_id}"


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Waiting:
    """The waits of a job: for another writer, by default as the catalog says, and for readers of old segments."""

    busy: Busy | None = None
    sleep: Callable[[float], None] = time.sleep
    stop: Callable[[], bool] = _never


_AT_ONCE: Final = Waiting()


class Elsewhere(Protocol):
    """What encodes for bulk jobs outside of this process, such as a cluster."""

    def maker(
        self, segments: Segments, target: Collection, options: EncoderOptions, segment_units: int
    ) -> SegmentMaker:
        """The maker of a collection's segments. Raises ``ExecutorUnavailable`` where nothing can encode."""


def _index_engine(services: Services, name: str) -> Elsewhere | None:
    """The index engine of this name; None for this process. Raises ``ExtraMissing`` for one that is not installed."""
    if name == "local":
        return None
    points = entry_points_of("spanseek.index_engines")
    if name not in points:
        raise ExtraMissing(f"The index engine {name} needs", name)
    made: Elsewhere = points[name].load()(services)
    return made


class CollectionJobs:
    """Jobs of one store's collections; each holds the collection's lease, and raises ``CollectionBusy`` without.

    ``elsewhere`` encodes for them, except for the batches of an upload.
    """

    def __init__(
        self, store: Store, encoders: Encoders, *, segment_units: int, elsewhere: Elsewhere | None = None
    ) -> None:
        self._store, self._encoders, self._segment_units = store, encoders, segment_units
        self._elsewhere = elsewhere

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        settings = services.settings
        elsewhere = _index_engine(services, settings.index_engine)
        return cls(services.store, services.encoders, segment_units=settings.segment_units, elsewhere=elsewhere)

    def prepare(self, target: Collection) -> None:
        """Load what indexing into a collection needs. Raises the errors of models that are missing, or are others."""
        self._encoders.forward_pass(target.recipe)

    def index(
        self, target: Collection, records: Iterable[Record], hooks: JobHooks | None = None, *, merge: bool = True
    ) -> IndexReport:
        """Index records into a collection, and merge segments that are due.

        Without ``merge`` they are a batch of documents, too few to be encoded elsewhere.
        """
        encoder, forward = self._encoders.matching(target.recipe), self._encoders.forward_pass(target.recipe)
        elsewhere, units = self._elsewhere if merge else None, self._segment_units
        maker = elsewhere.maker(self._store.segments, target, self._encoders.options, units) if elsewhere else None
        job = IndexJob(
            self._store, encoder, target, hooks, forward=forward, segment_units=units, merge=merge, maker=maker
        )
        return job.run(records)

    def delete(
        self,
        collection: str,
        ids: Sequence[str],
        filter: Filter | None = None,
        *,
        reach: Filter = Filter(),
        purged: bool = False,
        waiting: Waiting = _AT_ONCE,
    ) -> Deletion:
        """Delete the documents of these ids, and those that pass a filter; ``purged`` also erases them on disk.

        Of the ids, those out of ``reach`` are left out.
        """
        store = self._store
        with lease(store.catalog, collection, again=waiting.busy) as held:
            sweep(store, held)
            matching = passing_ids(store.present(held.collection), filter) if filter else ()
            named = find_documents(store.present(held.collection), ids, reach) if reach else ids
            deleted, generation = remove(store.catalog, held, [*named, *matching])
            removed = self.erase(held, waiting.sleep) if purged else None
            if purged:
                generation = store.catalog.generation(held.collection)
        return Deletion(deleted, generation, removed)

    def optimize(self, collection: str, *, words: bool = False, waiting: Waiting = _AT_ONCE) -> Optimized:
        """Merge all segments that can be merged; ``words`` adds words to a collection that has none."""
        with lease(self._store.catalog, collection, again=waiting.busy) as held:
            removed = optimize(self._store, held, waiting.sleep, words=words, stop=waiting.stop)
            left = self._store.catalog.by_id(held.collection_id)
        return Optimized(removed.segments, removed.bytes, removed.waited_s, left.segments, left.bytes)

    def purge(self, collection: str, *, waiting: Waiting = _AT_ONCE) -> Purged:
        """Erase deleted and replaced documents from the disk. Raises ``PurgeIncomplete``."""
        with lease(self._store.catalog, collection, again=waiting.busy) as held:
            return self.erase(held, waiting.sleep)

    def erase(self, held: Lease, sleep: Callable[[float], None] = time.sleep) -> Purged:
        """Purge a leased collection, and say what remains of deleted documents anywhere. Raises ``PurgeIncomplete``."""
        store = self._store
        collection = store.catalog.by_id(held.collection_id)
        beside = tuple(self._purge_beside(collection, sleep))
        purged = purge(store, held, sleep)
        copies = older_copies(store, store.catalog.by_id(held.collection_id))
        return replace(purged, remains=(*purged.remains, *beside, *copies))

    def _purge_beside(self, collection: Collection, sleep: Callable[[float], None]) -> Iterator[str]:
        """Purge what a reindexing has built that has not ended; or say that it is under way."""
        catalog, name = self._store.catalog, built_beside(collection.id)
        try:
            with lease(catalog, name, again=refuse) as held:
                differing = unlike(catalog, collection, catalog.collection(name))
                remove(catalog, held, frozenset.union(*differing))
                purge(self._store, held, sleep)
        except CollectionNotFound:
            return
        except CollectionBusy:
            yield f"the reindexing under way (collection {name}) may hold them until you purge again after its end"

    def backfill(
        self, collection: str, phrases: Sequence[str], *, waiting: Waiting = _AT_ONCE, present: bool = False
    ) -> Rematched:
        """Match saved phrases with all documents again. Raises ``PhraseNotFound`` and ``PhrasePaused``.

        With ``present`` those that were deleted or paused are left out.
        """
        with lease(self._store.catalog, collection, again=waiting.busy) as held:
            if present:
                phrases = sorted(set(phrases) & set(self._store.phrases.present(held.collection_id).names))
            return rematch(self._store, held, phrases) if phrases else Rematched(0, 0)
