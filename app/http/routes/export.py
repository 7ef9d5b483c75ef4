"""``/collections/{collection}/export``: documents with their texts, as they can be uploaded again."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.collections.exporting import document_line
from app.http.auth import CallerDependency
from app.http.openapi import LINES, problems
from app.http.responses import CURSOR_HEADER, cursor_header, stream_response
from app.http.schemas import CollectionPath
from app.requests import filter_of

router = APIRouter(
    prefix="/collections/{collection}/export", tags=["documents"], responses=problems(401, 403, 404, 409, 422)
)


@router.get(
    "",
    response_class=Response,
    summary="Read all documents",
    responses={
        200: {
            "content": LINES,
            "description": "A document a line",
            "headers": cursor_header("send it with the number of whole lines as `offset`"),
        },
        **problems(410),
    },
)
async def export_documents(
    collection: CollectionPath,
    caller: CallerDependency,
    filter: Annotated[
        str | None,
        Query(
            description="A filter as in a search: an expression such as `duration >= 600`, or JSON, "
            '`{"document": {...}, "part": {...}}`.'
        ),
    ] = None,
    cursor: Annotated[str | None, Query(description="`Spanseek-Cursor` of an export that was cut off.")] = None,
    offset: Annotated[int, Query(ge=0, lt=2**63, description="The number of documents to leave out.")] = 0,
) -> Response:
    """Stream the documents of one generation that pass a filter, with their texts, a document a line."""
    chosen = caller.confine("search", collection, filter_of(filter))
    export = await asyncio.to_thread(caller.backend.reader.export, collection, chosen, cursor, offset)
    headers = {CURSOR_HEADER: export.cursor}
    return stream_response(map(document_line, export.documents), "application/x-ndjson", headers)
