"""``/collections/{collection}/matches``: the matches of saved phrases, read by polling."""

import asyncio
from functools import partial
from typing import Annotated, Any

from fastapi import Header, Path, Query
from starlette.responses import Response, StreamingResponse

from app.http.auth import CallerDependency
from app.http.event_stream import EventStream, event_stream
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.http.schemas import CollectionPath, QueryTag
from app.phrases.answers import EventPage, MatchText
from app.phrases.service import MAX_EVENTS, PhraseService
from app.requests import MAX_CONTEXT, QueryText
from indexer.phrases import EventFilter

router = api_router(
    prefix="/collections/{collection}/matches", tags=["phrases"], responses=problems(401, 403, 404, 410, 422)
)
Phrases = Annotated[list[QueryText] | None, Query(description="Only this phrase; repeat for several.")]
Tags = Annotated[list[QueryTag] | None, Query(description="Only phrases with this tag; repeat for any of several.")]


@router.get("", response_model=EventPage, summary="Read what phrases matched")
def read_matches(
    collection: CollectionPath,
    caller: CallerDependency,
    cursor: Annotated[
        str | None, Query(description="The cursor of the previous answer; without it, all events.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_EVENTS, description="Maximum number of events.")] = 100,
    phrase: Phrases = None,
    tag: Tags = None,
) -> Response:
    """Read the events after a cursor. Send the returned cursor with the next request."""
    reach = caller.confine("search", collection)
    filter = EventFilter(tuple(phrase or ()), tuple(tag or ()))
    return answer_response(caller.backend.get(PhraseService).events(collection, limit, cursor, filter, reach))


_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events",
        "content": {
            "text/event-stream": {"schema": {"type": "string", "description": "Events, as `matches` has them."}}
        },
    }
}


@router.get(
    "/stream",
    response_class=StreamingResponse,
    summary="Follow what phrases match",
    responses=_STREAMED | problems(429),
)
async def stream_matches(
    collection: CollectionPath,
    caller: CallerDependency,
    cursor: Annotated[
        str | None, Query(description="As in the list of matches; `Last-Event-ID` comes before it.")
    ] = None,
    phrase: Phrases = None,
    tag: Tags = None,
    wait: Annotated[float, Query(ge=0, le=300, description="Seconds after which the stream ends.")] = 300,
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event that was received: events after it are sent.")
    ] = None,
) -> Response:
    """Read the events after a cursor as server-sent events, and then those that arrive."""
    reach = caller.confine("search", collection)
    chosen = EventFilter(tuple(phrase or ()), tuple(tag or ()))
    followed = partial(caller.backend.get(PhraseService).follow, collection, MAX_EVENTS, filter=chosen, reach=reach)
    page = await asyncio.to_thread(followed, last_event_id or cursor)
    return EventStream(caller.backend.events.places, event_stream(caller.backend.events, followed, page, wait))


@router.get("/{match}", response_model=MatchText, summary="See a match in its text")
def get_match(
    collection: CollectionPath,
    match: Annotated[int, Path(ge=1, le=2**62, description="The match's number.")],
    caller: CallerDependency,
    context: Annotated[
        int, Query(ge=0, le=MAX_CONTEXT, description="Code points of text on each side of the span.")
    ] = 200,
) -> Response:
    """Read a match that stands, with its text and its neighbours."""
    reach = caller.confine("search", collection)
    return answer_response(caller.backend.get(PhraseService).match(collection, match, context, reach))
