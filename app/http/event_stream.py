"""Events as server-sent events: each with the cursor behind it as its id, so that clients go on where they stopped."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from pydantic_core import to_json as any_to_json
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.answers import to_json
from app.http.event_watch import EventWatch
from app.http.pools import Places
from app.http.problems import problem
from app.phrases.service import Followed
from models.errors import SpanseekError

# Seconds between two signs of life of a stream without events, and before a client connects again.
_ALIVE_S: Final = 15.0
_AGAIN_MS: Final = 2000


async def event_stream(
    watch: EventWatch, read: Callable[[str | None], Followed], page: Followed, seconds: float
) -> AsyncIterator[bytes]:
    """The pieces of a stream, from its first page on, until the time is up or the server stops.

    ``read`` reads the page after a cursor, in a thread. The caller reads the first: its errors are ordinary answers.
    An error ends it, after an event ``problem``.
    """
    ends = time.monotonic() + seconds
    try:
        yield f"retry: {_AGAIN_MS}\n\n".encode()
        while True:
            for cursor, event in page.events:
                yield f"id: {cursor}\nevent: {event.event}\ndata: ".encode() + to_json(event) + b"\n\n"
            left = ends - time.monotonic()
            if not page.more and not await watch.wait(page.collection_id, page.last, min(left, _ALIVE_S)):
                if left <= _ALIVE_S or watch.closing:
                    return
                yield b": waiting\n\n"
            page = await asyncio.to_thread(read, page.cursor)
    except SpanseekError as error:
        yield b"event: problem\ndata: " + any_to_json(problem(error)) + b"\n\n"


class EventStream(StreamingResponse):
    """The response with a stream. It holds one of the places while it lasts, and is refused if there is none."""

    def __init__(self, places: Places, pieces: AsyncIterator[bytes]) -> None:
        super().__init__(pieces, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._places = places
        places.take()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces, and give the place back however that ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._places.give_back()
