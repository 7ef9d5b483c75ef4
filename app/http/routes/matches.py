"""``/collections/{collection}/matches``: the matches of saved phrases, read by polling."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.responses import json_response
from app.http.routes.phrases import Collection
from app.http.schemas import QueryText
from app.phrases.service import MAX_EVENTS, events_as_json
from indexer.phrases import Reason

router = APIRouter(prefix="/collections/{collection}/matches", tags=["phrases"])


class EventBody(BaseModel):
    """A match that was added or withdrawn."""

    event: Literal["matched", "withdrawn"]
    match: int = Field(description="The match's number in its collection: the same in both of its events.")
    at: datetime = Field(description="The time of the event.")
    phrase: str = Field(description="The phrase's name.")
    document_id: str
    start: int = Field(description="In code points.")
    end: int
    text: str | None = Field(description="The span's text; null for a withdrawn match.")
    score: float = Field(description="The score at the time of the match.")
    raw: float
    calibration: str | None = Field(description="The calibration of the score; null: score equals raw.")
    generation: int = Field(description="The first generation that contains the document.")
    reason: Reason | None = Field(description="Why it was withdrawn; null for `matched`.")


class EventsBody(BaseModel):
    """Events, in their order."""

    events: list[EventBody]
    cursor: str = Field(description="Send it with the next request: each event is read once, and none is skipped.")
    more: bool = Field(description="True if there are more events.")


@router.get(
    "", response_model=EventsBody, summary="Read what phrases matched", responses=problems(401, 403, 404, 410, 422, 503)
)
def read_matches(
    collection: Collection,
    caller: CallerDependency,
    cursor: Annotated[
        str | None, Query(description="The cursor of the previous answer; without it, all events.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS, description="Maximum number of events.")] = 100,
    phrase: Annotated[list[QueryText] | None, Query(description="Only this phrase; repeat for several.")] = None,
) -> Response:
    """Read the events after a cursor. Send the returned cursor with the next request."""
    caller.require("search", collection)
    return json_response(events_as_json(caller.backend.phrases.events(collection, limit, cursor, phrase or ())))
