"""Limits on heads, on the time of bodies and on the number of requests, without a server; the clock is the test's."""

import asyncio
import json

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from app.http.middleware import BodyLimitMiddleware, RequestLimitMiddleware

PIECE = 2**16


class Loop(asyncio.SelectorEventLoop):
    """A loop whose time passes when the test says so."""

    now = 0.0

    def time(self) -> float:
        return self.now


def scope(path: str = "/", query: str = "", **headers: str) -> Scope:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": pairs,
        "state": {},
    }


async def silence() -> Message:
    raise AssertionError("nothing is read")


def sent(answers: list[Message]) -> Send:
    async def send(message: Message) -> None:
        answers.append(message)

    return send


async def ok(_: Scope, __: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (scope("/" + "x" * 99), 200),
        (scope("/" + "x" * 100), 431),
        (scope("/", "x" * 100), 431),
        (scope("/", host="x" * 95), 200),
        (scope("/", host="x" * 96), 431),
    ],
)
def test_a_head_is_measured_as_a_whole(asked: Scope, status: int) -> None:
    answers: list[Message] = []
    asyncio.run(RequestLimitMiddleware(ok, head_bytes=100, requests=1)(asked, silence, sent(answers)))
    assert answers[0]["status"] == status
    if status == 431:
        assert json.loads(answers[1]["body"])["code"] == "headers_too_large"


def test_requests_beyond_the_limit_are_refused_and_make_room_again() -> None:
    async def play() -> None:
        go_on = asyncio.Event()

        async def waits(asked: Scope, receive: Receive, send: Send) -> None:
            await go_on.wait()
            await ok(asked, receive, send)

        limited, answers = RequestLimitMiddleware(waits, head_bytes=100, requests=2), [[], [], [], []]
        running = [asyncio.create_task(limited(scope(), silence, sent(each))) for each in answers[:2]]
        await asyncio.sleep(0)
        await limited(scope(), silence, sent(answers[2]))
        assert json.loads(answers[2][1]["body"])["code"] == "too_many_connections"
        go_on.set()
        await asyncio.gather(*running)
        await limited(scope(), silence, sent(answers[3]))
        assert [each[0]["status"] for each in answers] == [200, 200, 503, 200]

    asyncio.run(play())


def received(pieces: list[tuple[float, int]], read_s: float) -> int:
    """The bytes of a body whose pieces take so many seconds, and have so many bytes."""
    left, size = list(pieces), 0

    async def receive() -> Message:
        asyncio.get_running_loop().now += left[0][0]  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        _, length = left.pop(0)
        return {"type": "http.request", "body": b" " * length, "more_body": bool(left)}

    async def reads(_: Scope, receive: Receive, __: Send) -> None:
        nonlocal size
        more = True
        while more:
            message = await receive()
            size += len(message["body"])
            more = message["more_body"]

    limited = BodyLimitMiddleware(reads, limit=2**30, uploads=2**30, read_s=read_s)
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(limited(scope(), receive, sent([])))
    return size


def test_a_body_that_drips_is_cut_off() -> None:
    assert received([(1.0, 1)] * 5, read_s=5.5) == 5
    with pytest.raises(HTTPException) as refused:
        received([(1.0, 1)] * 7, read_s=5.5)
    assert refused.value.status_code == 408
    assert refused.value.headers == {"Connection": "close"}


def test_a_body_buys_time_for_the_rest_of_it() -> None:
    assert received([(1.0, PIECE)] * 100, read_s=5.5) == 100 * PIECE


def test_bytes_of_before_buy_no_time_for_silence() -> None:
    with pytest.raises(HTTPException):
        received([(0.0, 100 * PIECE), *[(1.0, 1)] * 7], read_s=5.5)


def test_a_client_that_waits_for_its_answer_has_no_limit() -> None:
    """After the body a message says that the client has gone, however late."""

    async def play() -> None:
        messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]
        gone = asyncio.Event()

        async def receive() -> Message:
            if messages:
                return messages.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def reads(_: Scope, receive: Receive, __: Send) -> None:
            await receive()
            asyncio.get_running_loop().now += 100.0  # type: ignore[attr-defined]
            asyncio.get_running_loop().call_soon(gone.set)
            assert (await receive())["type"] == "http.disconnect"

        await BodyLimitMiddleware(reads, limit=10, uploads=10, read_s=1.0)(scope(), receive, sent([]))

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(play())
