"""``/collections/{collection}/matches``: the matches of saved phrases, read by polling."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.responses import answer_response
from app.http.schemas import CollectionPath
from app.phrases.answers import EventPage
from app.phrases.service import MAX_EVENTS
from app.requests import QueryText

router = APIRouter(
    prefix="/collections/{collection}/matches", tags=["phrases"], responses=problems(401, 403, 404, 410, 422)
)


@router.get("", response_model=EventPage, summary="Read what phrases matched")
def read_matches(
    collection: CollectionPath,
    caller: CallerDependency,
    cursor: Annotated[
        str | None, Query(description="The cursor of the previous answer; without it, all events.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS, description="Maximum number of events.")] = 100,
    phrase: Annotated[list[QueryText] | None, Query(description="Only this phrase; repeat for several.")] = None,
) -> Response:
    """Read the events after a cursor. Send the returned cursor with the next request."""
    caller.require("search", collection)
    return answer_response(caller.backend.phrases.events(collection, limit, cursor, phrase or ()))
