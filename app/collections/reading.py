"""Reading the documents of a collection back from its segments."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from app.answers import described, optional
from app.collections.exporting import DocumentExport, exported_documents
from app.cursors import check_limit, cursor_at, digest_of, position_of
from app.encoders.encoders import Encoders
from app.services import Services
from indexer.engine.located import Located, require_documents
from indexer.engine.query import Filter
from indexer.reading.document_rows import count_passing, page_of
from indexer.reading.excerpts import excerpt
from indexer.reading.filter_fields import check_fields
from indexer.reading.metadata import FieldCounts, metadata_counts
from indexer.reading.stored_documents import stored_document
from indexer.segments.text import OffsetUnit, offset_in
from indexer.store import Store
from models.errors import InvalidInput
from models.types import CharSpan, Document, JsonValue, Part

# Code points of a text that a list shows.
_BEGINNING = 200


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part of a document: `text[start:end]` of the document's text, in the offset unit."""

    start: int
    end: int
    metadata: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as it was indexed."""

    id: str
    text: Annotated[str, described("The parts, joined by a newline; the offsets of hits refer to it.")]
    parts: tuple[StoredPart, ...]
    metadata: dict[str, JsonValue]
    offset_unit: OffsetUnit
    generation: int
    restored: Annotated[
        Literal[True] | None,
        optional("The collection does not store texts: the text, to which the parts refer, is restored from vectors."),
    ] = None
    confidence: Annotated[
        float | None, optional("Of a restored text: the probability of its least certain token, 0 to 1.")
    ] = None
    text_start: Annotated[int | None, optional("Where `text` begins, if a part of it was asked for.")] = None
    length: Annotated[int | None, optional("The length of the whole text, if a part of it was asked for.")] = None


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document in a list, without its text."""

    id: str
    metadata: dict[str, JsonValue]
    parts: Annotated[int, described("The number of parts.")]
    characters: Annotated[int, described("The length of the text in code points.")]
    beginning: Annotated[str, described("The first 200 code points of the text; none where texts are not stored.")]


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of documents, by id."""

    documents: tuple[ListedDocument, ...]
    total: Annotated[int, described("The documents of all pages.")]
    cursor: Annotated[str | None, described("The cursor of the next page; null at the end.")]
    generation: int
    degraded: Annotated[
        tuple[str, ...] | None,
        optional("The damage of segments whose documents are left out; absent if there is none."),
    ] = None


@dataclass(frozen=True, slots=True)
class MetadataCounts:
    """The metadata of a collection's documents and parts, with exact counts of documents."""

    fields: Annotated[
        tuple[FieldCounts, ...], described("The keys of documents, then the keys of parts, each in order of names.")
    ]
    documents: Annotated[int, described("The documents that pass the filter.")]
    generation: int
    degraded: Annotated[
        tuple[str, ...] | None,
        optional("The damage of segments whose documents are left out; absent if there is none."),
    ] = None


class DocumentReader:
    """Reads documents from the present snapshots of one store. Raises ``CollectionNotFound``."""

    def __init__(self, store: Store, encoders: Encoders) -> None:
        self._store = store
        self._encoders = encoders

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store, services.encoders)

    def get(
        self, collection: str, id: str, offset_unit: OffsetUnit = "codepoint", filter: Filter | None = None
    ) -> StoredDocument:
        """A document with its text, which is restored where it is not stored.

        Raises ``DocumentNotFound``, also for one that does not pass the filter.
        """
        snapshot = self._store.snapshot(collection)
        located = require_documents(snapshot, collection, [id], filter or Filter())[id]
        document, confidence = self._read(located)
        parts = tuple(_parts(document, offset_unit))
        metadata = dict(document.metadata)
        restored: Literal[True] | None = None if confidence is None else True
        return StoredDocument(
            id, document.text, parts, metadata, offset_unit, snapshot.generation.number, restored, confidence
        )

    def excerpt(
        self,
        collection: str,
        id: str,
        start: int,
        end: int,
        offset_unit: OffsetUnit = "codepoint",
        filter: Filter | None = None,
    ) -> StoredDocument:
        """A document with its text from ``start`` to ``end`` alone, and the parts that this touches.

        Raises as ``get``, and ``TextNotStored``.
        """
        if end < start:
            raise InvalidInput(
                f"The text ends before it begins: {start} to {end}.", hint="Give end > start.", field="end"
            )
        snapshot = self._store.snapshot(collection)
        located = require_documents(snapshot, collection, [id], filter or Filter())[id]
        segment, row = located.view.segment, located.document
        read = excerpt(segment, row, start, end, offset_unit)
        parts = tuple(StoredPart(each.start, each.end, each.metadata) for each in read.parts)
        metadata = segment.document_metadata(row)
        number = snapshot.generation.number
        return StoredDocument(
            id, read.text, parts, metadata, offset_unit, number, text_start=read.start, length=read.length
        )

    def _read(self, located: Located) -> tuple[Document, float | None]:
        """A document; if its texts are restored, with the confidence of the least certain token."""
        segment, number = located.view.segment, located.document
        if segment.recipe.stores_text:
            return stored_document(segment, number), None
        restored = self._encoders.texts(segment.recipe).parts(segment, number)
        first = int(segment.document_parts[number])
        parts = tuple(Part(each.text, segment.part_metadata(part)) for part, each in enumerate(restored, first))
        confidence = min((each.confidence for each in restored), default=1.0)
        return Document(segment.document_id(number), parts, segment.document_metadata(number)), confidence

    def export(
        self, collection: str, filter: Filter | None = None, cursor: str | None = None, offset: int = 0
    ) -> DocumentExport:
        """All documents that pass the filter, of one generation, with their texts, but the first ``offset``.

        ``cursor`` continues an earlier export of the same filter. Raises ``TextNotStored``, and ``CursorExpired`` if
        the generation of the cursor is no longer kept.
        """
        snapshot, chosen = self._store.snapshot(collection), filter or Filter()
        id, digest = snapshot.generation.collection_id, digest_of(chosen.key)
        if cursor is not None:
            generation, of_filter = position_of(cursor, "export", id, (0, "-"))
            if of_filter != digest:
                raise InvalidInput(
                    "The cursor was made for another filter.", hint="Repeat the filter unchanged.", field="cursor"
                )
            snapshot = self._store.snapshot_of(collection, generation)
        check_fields(snapshot, chosen)
        own = cursor_at("export", id, snapshot.generation.number, digest)
        return DocumentExport(exported_documents(snapshot, chosen, offset), own)

    def list(
        self, collection: str, limit: int = 100, cursor: str | None = None, filter: Filter | None = None
    ) -> DocumentPage:
        """At most ``limit`` documents by id that pass the filter, after the cursor of the previous page."""
        check_limit(limit)
        target = self._store.catalog.collection(collection)
        collection, collection_id = target.name, target.id
        (after,) = position_of(cursor, "documents", collection_id, ("",))
        snapshot, chosen = self._store.snapshot(collection), filter or Filter()
        check_fields(snapshot, chosen)
        rows = page_of(snapshot, chosen, after, limit + 1)
        page = tuple(map(_listed, rows.documents[:limit]))
        more = len(rows.documents) > limit
        next_cursor = cursor_at("documents", collection_id, page[-1].id) if more else None
        return DocumentPage(page, rows.total, next_cursor, snapshot.generation.number, snapshot.damages)

    def metadata(self, collection: str, limit: int = 20, filter: Filter | None = None) -> MetadataCounts:
        """The keys of the collection's metadata, each with its ``limit`` most frequent values and their counts."""
        check_limit(limit)
        snapshot, chosen = self._store.snapshot(collection), filter or Filter()
        check_fields(snapshot, chosen)
        documents = count_passing(snapshot, chosen).passing
        fields = metadata_counts(snapshot, chosen, limit)
        return MetadataCounts(fields, documents, snapshot.generation.number, snapshot.damages)


def _parts(document: Document, unit: OffsetUnit) -> Iterator[StoredPart]:
    start = 0
    for part in document.parts:
        end = start + offset_in(part.text, len(part.text), unit)
        yield StoredPart(start, end, dict(part.metadata))
        start = end + 1  # the newline between parts has one unit of every kind


def _listed(located: Located) -> ListedDocument:
    segment, row = located.view.segment, located.document
    first, last = segment.document_parts[row : row + 2].tolist()
    start, end = segment.text_starts[row : row + 2].tolist()
    shown = CharSpan(0, min(_BEGINNING, end - start))
    beginning = segment.stored_text(row, shown)
    return ListedDocument(
        segment.document_id(row), segment.document_metadata(row), last - first, end - start, beginning
    )
