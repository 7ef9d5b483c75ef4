"""The documents of a collection in the formats of exports, all of which can be indexed again."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from app.tabular import MEDIA_TYPES, ExportFormat, Format, Kind, csv_pieces, in_json, parquet_pieces
from indexer.engine.query import Filter
from indexer.engine.snapshot import Snapshot
from indexer.reading.stored_documents import documents_in_order, stored_document
from models.types import Document, Part

# A row for each part; metadata is JSON.
_COLUMNS: Final[Mapping[str, Kind]] = {
    "id": "string",
    "part": "int64",
    "text": "string",
    "metadata": "string",
    "part_metadata": "string",
}


@dataclass(frozen=True, slots=True)
class DocumentExport:
    """Documents, and the cursor of their list: with it, and the number of those that were read, one goes on."""

    documents: Iterator[Document]
    cursor: str


def exported_documents(snapshot: Snapshot, filter: Filter, offset: int = 0) -> Iterator[Document]:
    """The documents that pass a filter but the first ``offset``, segment by segment; each is read when it is taken.

    Raises ``SegmentCorrupt`` if a segment is damaged, and ``TextNotStored``, before the first document is taken.
    """
    snapshot.require_complete()
    snapshot.require_texts(
        "The collection does not store its texts, which an export holds.",
        hint="Take a snapshot, or read restored documents one by one.",
    )
    chosen = documents_in_order(snapshot, lambda view: view.passing_documents(filter))
    return (stored_document(segment, row) for segment, row in islice(chosen, offset, None))


def document_line(document: Document) -> bytes:
    """A document as a line of NDJSON, as it may be uploaded.

    >>> document_line(Document("a", (Part("Hello."),), {"lang": "en"}))
    b'{"id": "a", "text": "Hello.", "metadata": {"lang": "en"}}\\n'
    """
    return json.dumps(_values(document), ensure_ascii=False).encode() + b"\n"


def _lines(documents: Iterable[Document]) -> Iterator[bytes]:
    return map(document_line, documents)


def _csv(documents: Iterable[Document]) -> Iterator[bytes]:
    return csv_pieces(tuple(_COLUMNS), _rows(documents))


def _parquet(documents: Iterable[Document]) -> Iterator[bytes]:
    return parquet_pieces(_COLUMNS, _rows(documents))


DOCUMENT_FORMATS: Final[dict[Format, ExportFormat[Document]]] = {
    "ndjson": ExportFormat(MEDIA_TYPES["ndjson"], _lines),
    "csv": ExportFormat(MEDIA_TYPES["csv"], _csv),
    "parquet": ExportFormat(MEDIA_TYPES["parquet"], _parquet),
}


def _rows(documents: Iterable[Document]) -> Iterator[dict[str, Any]]:
    """A row for each part of the documents, numbered from 1."""
    for document in documents:
        metadata = in_json(dict(document.metadata) or None)
        for number, part in enumerate(document.parts, 1):
            cells = (document.id, number, part.text, metadata, in_json(dict(part.metadata) or None))
            yield dict(zip(_COLUMNS, cells, strict=True))


def _values(document: Document) -> dict[str, Any]:
    metadata = {"metadata": dict(document.metadata)} if document.metadata else {}
    parts = document.parts
    if len(parts) == 1 and not parts[0].metadata:
        return {"id": document.id, "text": parts[0].text, **metadata}
    return {"id": document.id, "parts": [_part(part) for part in parts], **metadata}


def _part(part: Part) -> dict[str, Any]:
    return {"text": part.text, "metadata": dict(part.metadata)} if part.metadata else {"text": part.text}
