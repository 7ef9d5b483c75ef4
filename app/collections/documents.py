"""Documents into a collection and out of it, and the upkeep after it; each call holds the collection's lease."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from app.search.encoders import Encoders
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.maintenance import tidy
from indexer.pipeline import IndexJob, JobHooks, Outcome
from indexer.store import Store
from models.types import Document


@dataclass(frozen=True, slots=True)
class Written:
    """What became of every document that was sent, by its id, and the generation from which on it holds."""

    generation: int
    outcomes: Mapping[str, Outcome]


@dataclass(frozen=True, slots=True)
class Deleted:
    """The ids of those documents that were there, and the generation from which on they are not."""

    generation: int
    ids: frozenset[str]


class DocumentService:
    """Writes to the collections of one store. Raises ``CollectionBusy`` where another process is writing."""

    def __init__(self, store: Store, encoders: Encoders, *, segment_units: int) -> None:
        self._store = store
        self._encoders = encoders
        self._segment_units = segment_units

    def upsert(self, collection: str, documents: Iterable[Document]) -> Written:
        """Add documents, or replace those that have their ids; of an id that occurs twice the last one counts."""
        target = self._store.catalog.collection(collection)
        encoder = self._encoders.matching(target.recipe)
        found: dict[str, Outcome] = {}
        hooks = JobHooks(settled=lambda outcome: found.update({outcome.document_id: outcome}))
        job = IndexJob(
            self._store,
            encoder,
            target,
            hooks,
            forward=self._encoders.forward_pass(target.recipe),
            segment_units=self._segment_units,
            merge=False,
        )
        report = job.run({document.id: document for document in documents}.values())
        return Written(report.generation, found)

    def delete(self, collection: str, ids: Iterable[str]) -> Deleted:
        """Delete documents; ids that are not there are passed over."""
        with lease(self._store.catalog, collection) as held:
            gone = remove(self._store.catalog, held, ids)
        return Deleted(self._store.catalog.generation(collection), gone)

    def tidy(self, collection: str, stop: Callable[[], bool]) -> bool:
        """Merge what is due and remove what may go; False if something has to stay for its grace period."""
        with lease(self._store.catalog, collection) as held:
            tidy(self._store, held, stop)
        return not self._store.catalog.retired_segments(self._store.catalog.collection(collection))
