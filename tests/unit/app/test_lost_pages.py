"""Answers while pages of mapped files are lost."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.http.middleware import ServerErrorMiddleware
from models.mapping import GUARDED


@pytest.fixture(autouse=True)
def _count() -> Iterator[None]:
    before = GUARDED[0, 0]
    yield
    GUARDED[0, 0] = before


def sent(kind: str, *messages: Message) -> list[Any]:
    """What reaches the server of an application that sends these, and loses a page before each but the first."""
    received: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for number, message in enumerate(messages):
            GUARDED[0, 0] += number > 0
            await send(message)

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        received.append(message)

    scope = {"type": kind, "method": "GET", "path": "/", "headers": [], "state": {}}
    asyncio.run(ServerErrorMiddleware(app)(scope, receive, send))
    return received


def test_a_server_whose_files_were_cut_still_shuts_down() -> None:
    messages = [{"type": "lifespan.startup.complete"}, {"type": "lifespan.shutdown.complete"}]
    assert sent("lifespan", *messages) == messages


def test_an_answer_that_has_begun_breaks_off() -> None:
    start = {"type": "http.response.start", "status": 200, "headers": []}
    with pytest.raises(Exception, match="was cut while it was read"):
        sent("http", start, {"type": "http.response.body", "body": b"zeros"})


def test_an_answer_that_has_not_begun_becomes_503() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        GUARDED[0, 0] += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})

    received: list[Any] = []

    async def send(message: Message) -> None:
        received.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "state": {}}
    asyncio.run(ServerErrorMiddleware(app)(scope, None, send))  # type: ignore[arg-type]
    assert received[0]["status"] == 503
    assert b"segments_unreachable" in received[1]["body"]
