"""The documents of a collection as lines that can be indexed again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from indexer.engine.query import Filter
from indexer.engine.snapshot import Snapshot
from indexer.errors import TextNotStored
from indexer.reading.stored_documents import documents_in_order, stored_document
from models.types import Document, Part


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
    if not snapshot.recipe.stores_text:
        raise TextNotStored(
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


def _values(document: Document) -> dict[str, Any]:
    metadata = {"metadata": dict(document.metadata)} if document.metadata else {}
    parts = document.parts
    if len(parts) == 1 and not parts[0].metadata:
        return {"id": document.id, "text": parts[0].text, **metadata}
    return {"id": document.id, "parts": [_part(part) for part in parts], **metadata}


def _part(part: Part) -> dict[str, Any]:
    return {"text": part.text, "metadata": dict(part.metadata)} if part.metadata else {"text": part.text}
