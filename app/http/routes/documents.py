"""``/collections/{collection}/documents``: add, replace and delete documents."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.collections.documents import Deleted, Written
from app.http.auth import Caller, CallerDependency
from app.http.openapi import problems
from app.http.responses import json_response
from app.http.schemas import CollectionName, DeleteBody, DocumentId
from app.http.uploads import Refused, Upload, uploads
from indexer.errors import InvalidDocument
from models.errors import InvalidInput, SpanseekError
from models.types import Document

router = APIRouter(
    prefix="/collections/{collection}/documents",
    tags=["documents"],
    responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 503, 504, 507),
)
Collection = Annotated[CollectionName, Path(description="The collection's name.")]


class ItemError(BaseModel):
    """The error of one item."""

    code: str = Field(description="A stable error code.")
    detail: str


class WrittenItem(BaseModel):
    """The result of one document."""

    id: str | None = Field(description="The document's id; null without a valid one.")
    status: Literal["indexed", "unchanged", "failed"]
    error: ItemError | None = Field(None, description="Absent unless it failed.")


class WrittenBody(BaseModel):
    """The result of every document, in request order."""

    results: list[WrittenItem]
    generation: int = Field(description="The first generation that contains the documents.")


class DeletedItem(BaseModel):
    """The result of one id."""

    id: str
    status: Literal["deleted", "not_found"]


class DeletedBody(BaseModel):
    """The result of every id, in request order."""

    results: list[DeletedItem]
    generation: int = Field(description="The first generation without the documents.")


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


@router.post("", response_model=WrittenBody, openapi_extra=_SENT, summary="Add or replace documents")
async def put_documents(collection: Collection, request: Request, caller: CallerDependency) -> Response:
    """Index documents, replacing those with the same ids; unchanged ones are skipped."""
    caller.require("index", collection)
    body, content_type = await request.body(), request.headers.get("content-type", "")
    items = await asyncio.to_thread(uploads, body, content_type)
    documents = [each for each in items if isinstance(each, Document)]
    backend = caller.backend
    written = await backend.writing.upsert(collection, documents, backend.limits.write_deadline_s)
    return json_response({"results": _written(items, written), "generation": written.generation})


@router.delete("", response_model=DeletedBody, summary="Delete documents")
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


@router.delete("/{document_id:path}", response_model=DeletedBody, summary="Delete a document")
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
    deleted = await backend.writing.delete(collection, ids, backend.limits.write_deadline_s)
    return json_response({"results": _deleted(ids, deleted), "generation": deleted.generation})


def _written(sent: Sequence[Upload], written: Written) -> list[Mapping[str, object]]:
    return [_refused(each) if isinstance(each, Refused) else _settled(each, written) for each in sent]


def _refused(refused: Refused) -> Mapping[str, object]:
    return {"id": refused.id, "status": "failed", "error": _error(refused.error)}


def _settled(document: Document, written: Written) -> Mapping[str, object]:
    outcome = written.outcomes[document.id]
    if outcome.status == "failed":
        return {"id": document.id, "status": "failed", "error": _error(InvalidDocument(outcome.reason))}
    return {"id": document.id, "status": outcome.status}


def _error(error: SpanseekError) -> Mapping[str, object]:
    return {"code": error.code, "detail": str(error)}


def _deleted(ids: Sequence[str], deleted: Deleted) -> list[Mapping[str, object]]:
    return [{"id": id, "status": "deleted" if id in deleted.ids else "not_found"} for id in ids]
