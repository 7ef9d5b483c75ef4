"""Adding and deleting documents, and maintenance afterwards; each call holds the collection's lease."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Annotated, Literal, Self

from app.answers import ItemError, described, optional
from app.collections.jobs import CollectionJobs
from app.services import Services
from indexer.catalog.leases import Lease, lease
from indexer.engine.located import require_documents
from indexer.engine.query import Filter
from indexer.errors import CollectionBusy, InvalidDocument, KeyConfined
from indexer.filters.expression import comparisons
from indexer.filters.strings import printed_field
from indexer.indexing.maintenance import tidy
from indexer.indexing.pipeline import JobHooks, Outcome
from indexer.indexing.relabelling import relabel
from indexer.patience import Busy, refuse
from indexer.reading.document_rows import passing_ids
from indexer.segments.columns import canonical
from indexer.segments.values import equal_at
from indexer.store import Store
from indexer.types import Collection
from models.errors import InvalidInput, SpanseekError
from models.types import Document, JsonValue, Metadata

# Seconds for which a writer waits for another thread of its process; a batch of an upload takes about two.
TURN_S = 8.0


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of every document by id, and the first generation that contains the changes."""

    generation: int
    outcomes: Mapping[str, Outcome]


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """The result of one document."""

    id: Annotated[str | None, described("The document's id; null without a valid one.")]
    status: Literal["indexed", "unchanged", "failed"]
    error: Annotated[ItemError | None, optional("Absent unless it failed.")] = None

    @classmethod
    def of(cls, outcome: Outcome) -> "WrittenDocument":
        """The outcome of a document as an answer."""
        if outcome.status == "failed":
            return cls.refused(outcome.document_id, InvalidDocument(outcome.reason))
        return cls(outcome.document_id, outcome.status)

    @classmethod
    def refused(cls, id: str | None, error: SpanseekError) -> "WrittenDocument":
        """The answer to an invalid document."""
        return cls(id, "failed", ItemError.of(error))


@dataclass(frozen=True, slots=True)
class WrittenDocuments:
    """The result of every document, in request order."""

    results: tuple[WrittenDocument, ...]
    generation: Annotated[int, described("The first generation that contains the documents.")]


@dataclass(frozen=True, slots=True)
class DeletedDocument:
    """The result of one id."""

    id: str
    status: Literal["deleted", "not_found"]


@dataclass(frozen=True, slots=True)
class DeletedDocuments:
    """The result of every id, in request order."""

    results: tuple[DeletedDocument, ...]
    generation: Annotated[int, described("The first generation without the documents.")]


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """The metadata of a document after a change."""

    id: str
    status: Literal["changed", "unchanged"]
    metadata: dict[str, JsonValue]
    generation: Annotated[int, described("The first generation that contains the change.")]


@dataclass(frozen=True, slots=True)
class DeletedByFilter:
    """The documents that passed the filter."""

    deleted: Annotated[int, described("The number of documents; with `dry_run`, of those that would be deleted.")]
    dry_run: bool
    generation: Annotated[int, described("The first generation without the documents.")]


class DocumentService:
    """Writes to the collections of one store. Raises ``CollectionBusy`` while another process writes."""

    def __init__(self, store: Store, jobs: CollectionJobs) -> None:
        self._store, self._jobs = store, jobs
        self._turns: dict[str, Lock] = {}

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, services.get(CollectionJobs))

    def upsert(
        self,
        collection: str,
        documents: Iterable[Document],
        busy: Busy | None = None,
    ) -> Written:
        """Add documents or replace those with the same ids; if an id occurs twice, the last document counts.

        ``busy`` says whether to wait for another process that writes.
        """
        target = self._store.catalog.collection(collection)
        outcomes: dict[str, Outcome] = {}
        hooks = JobHooks(settled=lambda outcome: outcomes.update({outcome.document_id: outcome}), busy=busy)
        last = {document.id: document for document in documents}
        with self._turn(target, busy):
            report = self._jobs.index(target, last.values(), hooks, merge=False)
        return Written(report.generation, outcomes)

    def require_writable(self, collection: str, busy: Busy | None = None) -> None:
        """Raise at once what an ``upsert`` of any documents would raise now: a writer or a missing model."""
        self._jobs.prepare(self._store.catalog.collection(collection))
        with self._writing(collection, busy):
            pass

    def delete(self, collection: str, ids: Sequence[str], reach: Filter = Filter()) -> DeletedDocuments:
        """Delete documents; unknown ids, and those out of reach, are ignored."""
        with self._turn(self._store.catalog.collection(collection)):
            deletion = self._jobs.delete(collection, ids, reach=reach)
        results = [DeletedDocument(id, "deleted" if id in deletion.ids else "not_found") for id in ids]
        return DeletedDocuments(tuple(results), deletion.generation)

    def delete_matching(self, collection: str, filter: Filter, *, dry_run: bool = False) -> DeletedByFilter:
        """Delete the documents that pass a filter. Raises ``InvalidInput`` for an empty one."""
        if not filter.asks:
            raise InvalidInput(
                "The filter is empty: it would delete all documents.",
                hint="Name metadata; or delete the collection, and create it again.",
                field="filter",
            )
        if dry_run:
            snapshot = self._store.present(collection)
            return DeletedByFilter(len(frozenset(passing_ids(snapshot, filter))), dry_run, snapshot.generation.number)
        with self._turn(self._store.catalog.collection(collection)):
            deletion = self._jobs.delete(collection, (), filter)
        return DeletedByFilter(len(deletion.ids), dry_run, deletion.generation)

    def change(
        self,
        collection: str,
        id: str,
        metadata: Metadata,
        removed: Sequence[str] = (),
        reach: Filter = Filter(),
    ) -> ChangedDocument:
        """Set and remove keys of a document's metadata; its text is not encoded again.

        Raises ``DocumentNotFound``, also for one out of reach, and ``KeyConfined`` for a change of what the filter of
        ``reach`` asks.
        """
        with self._writing(collection) as held:
            snapshot = self._store.present(held.collection)
            located = require_documents(snapshot, collection, [id], reach)[id]
            old = located.view.segment.document_metadata(located.document)
            new = {key: value for key, value in (old | dict(metadata)).items() if key not in removed}
            if canonical(new) == canonical(old):
                return ChangedDocument(id, "unchanged", old, snapshot.generation.number)
            _check_reach_kept(reach, old, new)
            generation = relabel(self._store, held, snapshot, {id: new})
        return ChangedDocument(id, "changed", new, generation)

    def tidy(
        self,
        collection: str,
        stop: Callable[[], bool],
        busy: Busy = refuse,
        *,
        windows: bool = True,
    ) -> bool:
        """Merge segments that are due and remove retired ones; False if some are still in their grace period.

        Without ``windows``, which take longest, they are left to the last call.
        """
        with self._writing(collection, busy) as held:
            kept = tidy(self._store, held, stop, windows=windows)
        return kept is None or not kept.retired

    @contextmanager
    def _writing(self, collection: str, busy: Busy | None = None) -> Iterator[Lease]:
        """The collection's lease, after the writers of this process that wait for it already."""
        target = self._store.catalog.collection(collection)
        with self._turn(target, busy), lease(self._store.catalog, target.name, again=busy) as held:
            yield held

    @contextmanager
    def _turn(self, collection: Collection, busy: Busy | None = None) -> Iterator[None]:
        """Keep the threads of this process apart, which would else refuse each other's writes at once."""
        lock = self._turns.setdefault(collection.id, Lock())
        while not lock.acquire(timeout=TURN_S):
            error = CollectionBusy(
                f"Collection {collection.name!r} is being written to by a task of this server",
                hint="Retry in a moment; `GET /tasks` shows the tasks.",
                collection=collection.name,
            )
            if busy is None or not busy(error):
                raise error
        try:
            yield
        finally:
            lock.release()


def _check_reach_kept(reach: Filter, old: Metadata, new: Metadata) -> None:
    """Raise ``KeyConfined`` if a change concerns what a key's filter asks, even if the filter stays true.

    A list with a value of its own and one of another key's would put the document into the reach of both.
    """
    for each in () if reach.always is None else comparisons(reach.always):
        if each.field.level == "document" and not equal_at(each.field.path, old, new):
            raise KeyConfined(
                f"The filter of this API key asks {printed_field(each.field)}, which the key therefore cannot change.",
                hint="Leave the metadata that the filter asks as it is, or use a key without a filter.",
                field="metadata",
            )
