"""Too much, too late, too big; and many at once."""

import asyncio
import json
from threading import Event

import pytest

from indexer.engine.executor import Executor
from tests.waiting import PATIENCE_S, advance_loop

BODY = {"collection": "sample", "text": "cancel my subscription"}


class HeldExecutor(Executor):
    """As usual, but that it waits to be let go once it is ``held``."""

    name = "held"

    def __init__(self) -> None:
        self.entered, self.go = Event(), Event()
        self.go.set()

    def hold(self) -> None:
        self.entered.clear()
        self.go.clear()

    def each(self, snapshot, read):
        self.entered.set()
        assert self.go.wait(PATIENCE_S)
        return super().each(snapshot, read)


@pytest.fixture
def executor():
    held = HeldExecutor()
    yield held
    held.go.set()


@pytest.mark.smoke
def test_a_full_queue_answers_429(settings, start, executor, problem) -> None:
    client = start(settings.model_copy(update={"queue_limit": 1}), executor)
    waiting = client.app.state.backend.waiting

    async def overload():
        executor.hold()
        first = asyncio.create_task(client.http.post("/search", json=BODY))
        await asyncio.to_thread(executor.entered.wait, PATIENCE_S)
        second = asyncio.create_task(client.http.post("/search", json=BODY))
        async with asyncio.timeout(PATIENCE_S):
            while not waiting()["scan"]:
                await asyncio.sleep(0)
        third = await client.http.post("/search", json=BODY)
        queue = await client.http.get("/metrics")
        executor.go.set()
        return await first, await second, third, queue.text

    first, second, third, queue = client.run(overload())
    problem(third, 429, "too_many_requests")
    assert third.headers["retry-after"] == "1"
    assert first.status_code == second.status_code == 200
    assert first.json()["hits"] == second.json()["hits"]
    assert 'spanseek_requests_waiting{lane="scan"} 1.0' in queue


def test_a_deadline_answers_504(settings, start, executor, problem) -> None:
    client = start(settings.model_copy(update={"deadline_s": 0.05}), executor)
    executor.hold()
    problem(client.post("/search", BODY), 504, "deadline_exceeded")
    problem(client.post("/search/batch", {"queries": [BODY, BODY]}), 504, "deadline_exceeded")
    executor.go.set()


def test_a_closing_server_answers_503(settings, start, problem) -> None:
    client = start(settings)
    client.app.state.backend.search.close()
    response = client.post("/search", BODY)
    problem(response, 503, "shutting_down")
    assert response.headers["retry-after"] == "1"


def test_an_unforeseen_error_tells_nothing_and_is_logged(settings, start, problem, caplog) -> None:
    class Broken(Executor):
        def each(self, snapshot, read):
            if snapshot.recipe.dim == 64:
                raise KeyError("secret of the house")
            return super().each(snapshot, read)

    client = start(settings, Broken())
    for path, body in (("/search", BODY), ("/search/batch", {"queries": [BODY, BODY]})):
        caplog.clear()
        response = client.post(path, body)
        problem(response, 500, "internal_error")
        assert "secret" not in response.text
        assert "secret of the house" in caplog.text
    assert 'spanseek_requests_total{method="POST",route="/search",status="500"} 1.0' in client.get("/metrics").text


def padded(size: int) -> bytes:
    body = json.dumps(BODY).encode()
    return body + b" " * (size - len(body))


async def chunks(content: bytes, taken: list[int]):
    for begin in range(0, len(content), 100):
        taken.append(begin)
        yield content[begin : begin + 100]


def test_the_body_limit(settings, start, problem) -> None:
    client = start(settings.model_copy(update={"body_limit_bytes": 1000}))
    assert client.post_raw("/search", padded(1000)).status_code == 200
    assert "1000 bytes" in problem(client.post_raw("/search", padded(1001)), 413, "body_too_large")["detail"]


def test_the_body_limit_of_chunks_that_announce_no_length(settings, start, problem) -> None:
    client = start(settings.model_copy(update={"body_limit_bytes": 1000}))
    taken: list[int] = []
    assert client.post_raw("/search", chunks(padded(1000), taken)).status_code == 200
    taken.clear()
    problem(client.post_raw("/search", chunks(padded(100_000), taken)), 413, "body_too_large")
    assert max(taken) <= 1000


@pytest.mark.ci("many requests at once")
def test_many_at_once_get_what_each_gets_alone(client) -> None:
    queries = [
        {"collection": "sample", "text": text, "top_k": top_k, "group_by": group_by}
        for text in ("cancel my subscription", "router 3 is slow", "parcel", "good morning 😀")
        for top_k in (1, 3, 10, 50)
        for group_by in ("span", "part", "document", "span")
    ]

    async def together():
        return await asyncio.gather(*(client.http.post("/search", json=query) for query in queries))

    answers = client.run(together())
    assert len(answers) == 64
    for query, answer in zip(queries, answers, strict=True):
        assert answer.status_code == 200
        assert answer.json()["hits"] == client.search(**query)["hits"]


def test_a_batch_that_is_larger_than_the_queue_is_refused_with_the_limit(settings, start, problem) -> None:
    client = start(settings.model_copy(update={"queue_limit": 4}))
    assert client.post("/search/batch", {"queries": [BODY] * 4}).status_code == 200
    found = problem(client.post("/search/batch", {"queries": [BODY] * 5}), 422, "invalid_input")
    assert "at most 4" in found["detail"]


def test_a_route_that_does_not_answer_is_answered_504_and_its_late_answer_dropped(
    settings, start, problem, monkeypatch
) -> None:
    client = start(settings.model_copy(update={"deadline_s": 60.0}))
    entered, go = Event(), Event()

    async def deadline() -> None:
        advance_loop(monkeypatch, 61)
        await asyncio.sleep(0.001)  # timers that are due come first

    async def on_the_loop() -> str:
        await deadline()
        return "done"

    def in_a_thread() -> str:
        entered.set()
        assert go.wait(PATIENCE_S)
        return "late"

    client.app.get("/in-a-thread")(in_a_thread)
    client.app.get("/on-the-loop")(on_the_loop)

    async def ask():
        asking = asyncio.create_task(client.http.get("/in-a-thread"))
        assert await asyncio.to_thread(entered.wait, PATIENCE_S)
        await deadline()
        go.set()
        return await asking, await client.http.get("/on-the-loop")

    late, has_its_own = client.run(ask())
    problem(late, 504, "deadline_exceeded")
    assert has_its_own.json() == "done"
