"""Matches as server-sent events: read once, in order, resumed by the id of the last one."""

import asyncio
import json
from typing import Any

import pytest

from tests.integration.http.conftest import Client

STREAM = "/collections/sample/matches/stream"
PHRASE = "cancel my subscription"


@pytest.fixture
def client(start, settings) -> Client:
    return start(settings)


def save(client: Client, **body: object) -> None:
    sent = {"text": PHRASE, "threshold": 0.9} | body
    assert client.run(client.http.post("/collections/sample/phrases", json=sent, headers=client.headers)).is_success


def events(client: Client, query: str = "", **headers: str) -> list[dict[str, Any]]:
    """The events of a stream that does not wait."""
    answer = client.run(client.http.get(f"{STREAM}?wait=0{query}", headers=client.headers | headers))
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return parsed(answer.text)


def parsed(text: str) -> list[dict[str, Any]]:
    pieces = (dict(line.split(": ", 1) for line in piece.splitlines()) for piece in text.split("\n\n") if piece)
    return [
        {"id": each.get("id"), "event": each["event"], **json.loads(each["data"])} for each in pieces if "data" in each
    ]


@pytest.mark.smoke
def test_a_stream_has_the_events_of_the_list_and_goes_on_after_any_of_them(client) -> None:
    assert events(client) == []
    save(client, name="a", tags=["x"])
    save(client, name="b")
    listed = client.get("/collections/sample/matches").json()
    streamed = events(client)
    assert [{key: value for key, value in each.items() if key != "id"} for each in streamed] == listed["events"]
    for number, each in enumerate(streamed, 1):
        assert events(client, **{"Last-Event-ID": each["id"]}) == streamed[number:]
        assert events(client, f"&cursor={each['id']}") == streamed[number:]
    assert events(client, f"&cursor={streamed[0]['id']}", **{"Last-Event-ID": streamed[-1]["id"]}) == []
    assert (
        {each["phrase"] for each in events(client, "&tag=x")}
        == {each["phrase"] for each in events(client, "&phrase=a")}
        == {"a"}
    )


def test_errors_before_a_stream_are_ordinary_answers(client, make_key, problem) -> None:
    for path, status, code in (
        (f"{STREAM}?cursor=x", 422, "invalid_input"),
        (f"{STREAM}?wait=301", 422, "invalid_input"),
        ("/collections/none/matches/stream", 404, "collection_not_found"),
    ):
        problem(client.get(path), status, code)
    client.headers = {"Authorization": f"Bearer {make_key('index')}"}
    problem(client.get(STREAM), 403, "forbidden")


class Stream:
    """A stream that goes on, asked for without a transport that would wait for its end."""

    def __init__(self, client: Client, path: str = STREAM) -> None:
        self.client, self.text, self.status = client, "", 0
        self.gone = asyncio.Event()
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"wait=300"}
        scope |= {"headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1), "server": ("localhost", 80)}
        scope |= {"scheme": "http", "http_version": "1.1", "root_path": ""}
        self.task = client.run(self.begin(scope))

    async def begin(self, scope: dict[str, Any]) -> "asyncio.Task[None]":
        return asyncio.get_running_loop().create_task(self.client.app(scope, self.receive, self.send))

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.status = message.get("status", self.status)
        self.text += message.get("body", b"").decode()

    def until(self, number: int) -> list[dict[str, Any]]:
        async def wait() -> None:
            while len(parsed(self.text)) < number:
                await asyncio.sleep(0)

        self.client.run(asyncio.wait_for(wait(), 120))
        return parsed(self.text)

    def end(self) -> None:
        async def wait() -> None:
            await asyncio.wait_for(self.task, 120)

        self.client.run(wait())


def test_what_arrives_is_sent_to_those_who_wait(client) -> None:
    save(client, backfill=False)
    streams = [Stream(client), Stream(client)]
    document = {"id": "new", "text": PHRASE}
    assert client.post("/collections/sample/documents", document).is_success
    for stream in streams:
        assert [each["document_id"] for each in stream.until(1)] == ["new"]
    client.run(client.http.delete("/collections/sample/documents/new"))
    assert [each["event"] for each in streams[0].until(2)] == ["matched", "withdrawn"]
    streams[1].gone.set()
    streams[1].end()
    client.app.state.backend.events.close()
    streams[0].end()  # long before its time is up
    assert streams[0].status == 200


def test_only_so_many_streams_are_open(client, problem) -> None:
    places = client.app.state.backend.events.places
    free = places._free
    for _ in range(free):
        places.take()
    problem(client.get(f"{STREAM}?wait=0"), 429, "too_many_requests")
    places.give_back()
    assert events(client) == []
    assert events(client) == []  # the first one gave its place back
