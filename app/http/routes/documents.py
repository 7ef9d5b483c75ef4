"""``/collections/{collection}/documents``: read, add, replace, change and delete documents."""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import Path, Query, Request
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from app.collections.documents import (
    ChangedDocument,
    DeletedByFilter,
    DeletedDocuments,
    DocumentService,
    WrittenDocument,
    WrittenDocuments,
)
from app.collections.reading import DocumentPage, DocumentReader, StoredDocument
from app.cursors import MAX_LISTED
from app.http.auth import Caller, CallerDependency
from app.http.openapi import api_router, problems
from app.http.receiving import upload_as_task
from app.http.responses import answer_response
from app.http.schemas import ChangeDocumentBody, CollectionPath, DeleteBody, DeleteByFilterBody, QueryFilter
from app.http.uploads import require_own_ids, uploads, with_own_ids
from app.requests import DocumentId
from app.tasks.answers import TaskDescription
from indexer.segments.text import OffsetUnit
from models.errors import InvalidInput
from models.types import Document


class _IdConvertor(Convertor[str]):
    """A document id, the rest of a path: anything, line feeds too, which Starlette's own ``path`` leaves out."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("id", _IdConvertor())
router = api_router(
    prefix="/collections/{collection}/documents", tags=["documents"], responses=problems(401, 403, 404, 409, 422)
)
_WRITE = problems(400, 413, 507)
Id = Annotated[DocumentId, Path(description="The document's id, percent-encoded.")]


# Larger bodies are written to the disk and indexed as tasks: what is accepted will be indexed, however long it takes.
_TASK_FROM_BYTES = 2**18
_ACCEPTED: dict[int | str, dict[str, Any]] = {202: {"model": TaskDescription, "description": "Accepted"}}
_SENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"description": "One document, or a list of documents."},
                "example": [{"id": "call-17", "text": "I want to cancel.", "metadata": {"kind": "call"}}],
            },
            "application/x-ndjson": {
                "schema": {"type": "string", "description": "A document a line."},
                "example": '{"id": "call-17", "parts": [{"text": "Hello.", "metadata": {"speaker": "agent"}}]}\n',
            },
        },
    }
}


@router.get("", response_model=DocumentPage, summary="List documents")
def list_documents(
    collection: CollectionPath,
    caller: CallerDependency,
    filter: QueryFilter,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="Maximum number of documents.")] = 100,
    cursor: Annotated[str | None, Query(description="The `cursor` of the previous page.")] = None,
) -> Response:
    """List the documents of a collection by id, with their metadata and the beginnings of their texts."""
    chosen = caller.confine("search", collection, filter)
    return answer_response(caller.backend.get(DocumentReader).list(collection, limit, cursor, chosen))


@router.get("/{document_id:id}", response_model=StoredDocument, summary="Read a document")
async def get_document(
    collection: CollectionPath,
    document_id: Id,
    caller: CallerDependency,
    offset_unit: Annotated[OffsetUnit, Query(description="As in a search, for the offsets of parts.")] = "codepoint",
    start: Annotated[int, Query(ge=0, description="Read the text from this offset on.")] = 0,
    end: Annotated[int | None, Query(ge=0, description="Read the text up to this offset.")] = None,
) -> Response:
    """Read a document: its text, its parts with their offsets and metadata, and its own metadata.

    With `start` or `end`, a part of the text and the parts that this touches: their offsets refer to the whole text.
    """
    reach = caller.confine("search", collection)
    backend = caller.backend
    if start or end is not None:
        end = sys.maxsize if end is None else end
        read = partial(backend.get(DocumentReader).excerpt, collection, document_id, start, end, offset_unit, reach)
    else:
        read = partial(backend.get(DocumentReader).get, collection, document_id, offset_unit, reach)
    return answer_response(await backend.read(collection, read))


@router.post(
    "",
    response_model=WrittenDocuments,
    openapi_extra=_SENT,
    summary="Add or replace documents",
    responses=_ACCEPTED | _WRITE,
)
async def put_documents(collection: CollectionPath, request: Request, caller: CallerDependency) -> Response:
    """Index documents, replacing those with the same ids; unchanged ones are skipped.

    A large body that is not indexed in time is answered 202, with the task that goes on.
    """
    always = require_own_ids(caller.confine("index", collection)).always
    body, content_type = await request.body(), request.headers.get("content-type", "")
    backend = caller.backend
    items = await backend.write(lambda: with_own_ids(uploads(body, content_type), always))
    documents = [each for each in items if isinstance(each, Document)]
    caller.note(document.id for document in documents)
    is_long = len(body) > _TASK_FROM_BYTES and always is None  # a key with a filter sees no tasks
    if is_long and documents and await asyncio.to_thread(backend.stores_text, collection):
        answer = await upload_as_task(backend, collection, items)
        return answer_response(answer, 200 if isinstance(answer, WrittenDocuments) else 202)
    written = await backend.writing.write(
        collection, partial(backend.get(DocumentService).upsert, collection, documents)
    )
    results = [
        WrittenDocument.of(written.outcomes[item.id])
        if isinstance(item, Document)
        else WrittenDocument.refused(item.id, item.error)
        for item in items
    ]
    return answer_response(WrittenDocuments(tuple(results), written.generation))


@router.post("/delete", response_model=DeletedByFilter, summary="Delete documents by a filter", responses=_WRITE)
async def delete_documents_by_filter(
    collection: CollectionPath, body: DeleteByFilterBody, caller: CallerDependency
) -> Response:
    """Delete all documents that pass a filter, which must not be empty; says how many."""
    filter = caller.confine("index", collection, body.filter.filter())
    backend = caller.backend
    delete = partial(backend.get(DocumentService).delete_matching, collection, filter, dry_run=body.dry_run)
    return answer_response(await backend.writing.write(collection, delete))


@router.patch(
    "/{document_id:id}", response_model=ChangedDocument, summary="Change a document's metadata", responses=_WRITE
)
async def change_document(
    collection: CollectionPath, document_id: Id, body: ChangeDocumentBody, caller: CallerDependency
) -> Response:
    """Set and remove keys of a document's metadata. Its text is not encoded again."""
    reach = caller.confine("index", collection)
    backend = caller.backend
    change = partial(backend.get(DocumentService).change, collection, document_id, body.metadata, body.remove, reach)
    return answer_response(await backend.writing.write(collection, change))


@router.delete("", response_model=DeletedDocuments, summary="Delete documents", responses=_WRITE)
async def delete_documents(
    collection: CollectionPath,
    caller: CallerDependency,
    body: DeleteBody | None = None,
    id: Annotated[list[DocumentId] | None, Query(description="Id of a document; repeat for several.")] = None,
) -> Response:
    """Delete the documents named in the body or the query."""
    ids = [*(body.ids if body else ()), *(id or ())]
    if not ids:
        raise InvalidInput("No document is named.", hint='Send {"ids": [...]}, or ?id=...', field="ids")
    return await _delete(caller, collection, ids)


@router.delete("/{document_id:id}", response_model=DeletedDocuments, summary="Delete a document", responses=_WRITE)
async def delete_document(
    collection: CollectionPath,
    document_id: Id,
    caller: CallerDependency,
) -> Response:
    """Delete one document; an unknown id is not an error."""
    return await _delete(caller, collection, [document_id])


async def _delete(caller: Caller, collection: str, ids: Sequence[str]) -> Response:
    reach = caller.confine("index", collection)
    caller.note(ids)
    backend = caller.backend
    delete = partial(backend.get(DocumentService).delete, collection, ids, reach)
    return answer_response(await backend.writing.write(collection, delete))
