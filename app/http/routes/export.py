"""``/collections/{collection}/export``: documents with their texts, as they can be uploaded again."""

import asyncio
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from app.collections.exporting import DOCUMENT_FORMATS
from app.collections.reading import DocumentReader
from app.http.auth import CallerDependency
from app.http.media_types import content_of, preferred_format
from app.http.openapi import api_router, problems
from app.http.responses import CURSOR_HEADER, cursor_header, stream_response
from app.http.schemas import CollectionPath, QueryFilter

router = api_router(
    prefix="/collections/{collection}/export", tags=["documents"], responses=problems(401, 403, 404, 409, 422)
)


@router.get(
    "",
    response_class=Response,
    summary="Read all documents",
    responses={
        200: {
            "content": content_of(DOCUMENT_FORMATS),
            "description": "All documents",
            "headers": cursor_header("send it with the number of whole documents as `offset`"),
        },
        **problems(406, 410),
    },
)
async def export_documents(
    collection: CollectionPath,
    caller: CallerDependency,
    request: Request,
    filter: QueryFilter,
    cursor: Annotated[str | None, Query(description="`Spanseek-Cursor` of an export that was cut off.")] = None,
    offset: Annotated[int, Query(ge=0, lt=2**63, description="The number of documents to leave out.")] = 0,
) -> Response:
    """Stream the documents of one generation that pass a filter, with their texts, in the format that `Accept` names.

    NDJSON, without it, has a document a line, CSV and Parquet have a row for each part.
    """
    format = preferred_format(request.headers.get("accept"), DOCUMENT_FORMATS)
    chosen = caller.confine("search", collection, filter)
    export = await asyncio.to_thread(caller.backend.get(DocumentReader).export, collection, chosen, cursor, offset)
    headers = {CURSOR_HEADER: export.cursor}
    return stream_response(format.pieces(export.documents), format.media_type, headers)
