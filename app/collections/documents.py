"""Adding and deleting documents, and maintenance afterwards; each call holds the collection's lease."""

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
    """The outcome of every document by id, and the first generation that contains the changes."""

    generation: int
    outcomes: Mapping[str, Outcome]


@dataclass(frozen=True, slots=True)
class Deleted:
    """The ids of the deleted documents, and the first generation without them."""

    generation: int
    ids: frozenset[str]


class DocumentService:
    """Writes to the collections of one store. Raises ``CollectionBusy`` while another process writes."""

    def __init__(self, store: Store, encoders: Encoders, *, segment_units: int) -> None:
        self._store = store
        self._encoders = encoders
        self._segment_units = segment_units

    def upsert(self, collection: str, documents: Iterable[Document]) -> Written:
        """Add documents or replace those with the same ids; if an id occurs twice, the last document counts."""
        target = self._store.catalog.collection(collection)
        encoder = self._encoders.matching(target.recipe)
        outcomes: dict[str, Outcome] = {}
        hooks = JobHooks(settled=lambda outcome: outcomes.update({outcome.document_id: outcome}))
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
        return Written(report.generation, outcomes)

    def delete(self, collection: str, ids: Iterable[str]) -> Deleted:
        """Delete documents; unknown ids are ignored."""
        with lease(self._store.catalog, collection) as held:
            deleted = remove(self._store.catalog, held, ids)
        return Deleted(self._store.catalog.generation(collection), deleted)

    def tidy(self, collection: str, stop: Callable[[], bool]) -> bool:
        """Merge segments that are due and remove retired ones; False if some are still in their grace period."""
        with lease(self._store.catalog, collection) as held:
            tidy(self._store, held, stop)
        return not self._store.catalog.retired_segments(self._store.catalog.collection(collection))
