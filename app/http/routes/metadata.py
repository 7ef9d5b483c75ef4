"""``/collections/{collection}/metadata``: how many documents have which metadata."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from app.collections.reading import DocumentReader, MetadataCounts
from app.cursors import MAX_LISTED
from app.http.auth import CallerDependency
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.http.schemas import CollectionPath, QueryFilter

router = api_router(
    prefix="/collections/{collection}/metadata", tags=["documents"], responses=problems(401, 403, 404, 422)
)


@router.get("", response_model=MetadataCounts, summary="Count documents by metadata")
def count_metadata(
    collection: CollectionPath,
    caller: CallerDependency,
    filter: QueryFilter,
    limit: Annotated[
        int,
        Query(
            ge=1, le=MAX_LISTED, description="Maximum number of values of a key; `distinct` says how many there are."
        ),
    ] = 20,
) -> Response:
    """Count the documents that have each value of the collection's metadata, and pass a filter."""
    chosen = caller.confine("search", collection, filter)
    return answer_response(caller.backend.get(DocumentReader).metadata(collection, limit, chosen))
