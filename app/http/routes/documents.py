"""``/collections/{collection}/documents``: add, replace and delete documents."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from app.collections.documents import DeletedDocuments, WrittenDocument, WrittenDocuments
from app.http.auth import Caller, CallerDependency
from app.http.openapi import problems
from app.http.responses import answer_response
from app.http.schemas import CollectionName, DeleteBody, DocumentId
from app.http.uploads import uploads
from models.errors import InvalidInput
from models.types import Document

router = APIRouter(
    prefix="/collections/{collection}/documents",
    tags=["documents"],
    responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 503, 504, 507),
)
Collection = Annotated[CollectionName, Path(description="The collection's name.")]


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


@router.post("", response_model=WrittenDocuments, openapi_extra=_SENT, summary="Add or replace documents")
async def put_documents(collection: Collection, request: Request, caller: CallerDependency) -> Response:
    """Index documents, replacing those with the same ids; unchanged ones are skipped."""
    caller.require("index", collection)
    body, content_type = await request.body(), request.headers.get("content-type", "")
    items = await asyncio.to_thread(uploads, body, content_type)
    documents = [each for each in items if isinstance(each, Document)]
    backend = caller.backend
    written = await backend.writing.upsert(collection, documents, backend.limits.write_deadline_s)
    results = [
        WrittenDocument.of(written.outcomes[item.id])
        if isinstance(item, Document)
        else WrittenDocument.refused(item.id, item.error)
        for item in items
    ]
    return answer_response(WrittenDocuments(tuple(results), written.generation))


@router.delete("", response_model=DeletedDocuments, summary="Delete documents")
async def delete_documents(
    collection: Collection,
    caller: CallerDependency,
    body: DeleteBody | None = None,
    id: Annotated[list[DocumentId] | None, Query(description="Id of a document; repeat for several.")] = None,
) -> Response:
    """Delete the documents named in the body or the query."""
    ids = [*(body.ids if body else ()), *(id or ())]
    if not ids:
        raise InvalidInput("No document is named.", hint='Send {"ids": [...]}, or ?id=...', field="ids")
    return await _delete(caller, collection, ids)


@router.delete("/{document_id:path}", response_model=DeletedDocuments, summary="Delete a document")
async def delete_document(
    collection: Collection,
    document_id: Annotated[DocumentId, Path(description="The document's id, percent-encoded.")],
    caller: CallerDependency,
) -> Response:
    """Delete one document; an unknown id is not an error."""
    return await _delete(caller, collection, [document_id])


async def _delete(caller: Caller, collection: str, ids: Sequence[str]) -> Response:
    caller.require("index", collection)
    backend = caller.backend
    return answer_response(await backend.writing.delete(collection, ids, backend.limits.write_deadline_s))
