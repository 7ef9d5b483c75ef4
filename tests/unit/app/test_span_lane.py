"""The lane of spans: one slice of a request at a time, behind the searches, and nothing after its deadline."""

import asyncio
import itertools
import os
import sys
import threading
from collections.abc import Iterator

import pytest
from starlette.requests import ClientDisconnect

from app.encoders.encoders import Encoders
from app.http.span_lane import SpanLane
from app.search.errors import DeadlineExceeded
from app.search.mode import load_modes
from app.texts.requests import SpansRequest
from app.texts.span_answers import TooMuchText
from app.texts.spans import Phrases, Searched, Slice, SpanService
from models.encoders.hashing import HashingEncoder
from models.types import Document, Part
from tests.waiting import PATIENCE_S

LONG = "cancel my plan " * 1_000  # so many characters that two are no slice


def texts(*contents: str) -> tuple[Document, ...]:
    return tuple(Document(str(number), (Part(content),)) for number, content in enumerate(contents))


class Watched(SpanService):
    """Notes the texts of every slice and the niceness of the thread; waits for ``go`` before the first."""

    def __init__(self) -> None:
        encoders = Encoders.of({"hashing": HashingEncoder()})
        super().__init__(encoders, "hashing", load_modes(encoders)["best_span"])
        self.slices: list[str] = []
        self.niceness: list[int] = []
        self.steps = 0
        self.entered, self.go = threading.Event(), threading.Event()
        self.go.set()

    def search(self, phrases: Phrases, part: Slice) -> Iterator[Searched]:
        self.slices.append(f"{phrases.queries[0].prepared.request.text} {part.first}")
        self.niceness.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        self.entered.set()
        assert self.go.wait(PATIENCE_S)
        for step in super().search(phrases, part):
            self.steps += 1
            yield step


@pytest.fixture
def service() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.go.set()


@pytest.fixture
def lane(service: Watched) -> Iterator[SpanLane]:
    made = SpanLane(service, clock=lambda: 0.0)  # whatever it takes, no text is refused for its time
    yield made
    made.close()


def test_the_answer_is_that_of_the_service(service: Watched, lane: SpanLane) -> None:
    request = SpansRequest(("my plan",), texts("cancel my plan", LONG, LONG, ""))
    answer = asyncio.run(lane.find(request, PATIENCE_S))
    assert answer.results == service.find(request).results
    assert service.slices[:2] == ["my plan 0", "my plan 2"]
    assert lane.waiting == {"spans": 0}


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
def test_slices_are_encoded_behind_the_searches(service: Watched, lane: SpanLane) -> None:
    asyncio.run(lane.find(SpansRequest(("my plan",), texts(LONG)), PATIENCE_S))
    assert service.niceness[0] > os.getpriority(os.PRIO_PROCESS, 0)


def test_requests_take_turns(service: Watched, lane: SpanLane) -> None:
    async def both() -> None:
        service.go.clear()
        first = asyncio.create_task(lane.find(SpansRequest(("first",), texts(LONG, LONG, LONG)), PATIENCE_S))
        await asyncio.to_thread(service.entered.wait, PATIENCE_S)
        second = asyncio.create_task(lane.find(SpansRequest(("second",), texts("a plan")), PATIENCE_S))
        async with asyncio.timeout(PATIENCE_S):
            while not lane.waiting["spans"]:
                await asyncio.sleep(0)
        service.go.set()
        await asyncio.gather(first, second)

    asyncio.run(both())
    assert service.slices.index("second 0") < service.slices.index("first 2")


def test_nothing_is_encoded_after_the_deadline(service: Watched, lane: SpanLane) -> None:
    service.go.clear()
    with pytest.raises(DeadlineExceeded, match=r"within 0\.1 s"):
        asyncio.run(lane.find(SpansRequest(("first",), texts(LONG, LONG)), 0.1))
    service.go.set()
    asyncio.run(lane.find(SpansRequest(("second",), texts("a plan")), PATIENCE_S))
    assert "first 1" not in service.slices


def test_too_much_is_refused_before_anything_is_encoded(service: Watched, lane: SpanLane) -> None:
    for contents in (["a"] * 1_001, ["x" * 600_000] * 2):
        with pytest.raises(TooMuchText) as refused:
            asyncio.run(lane.find(SpansRequest(("a",), texts(*contents)), PATIENCE_S))
        assert refused.value.field == "texts"
    parts = Document("a", tuple(Part("") for _ in range(20_001)))
    with pytest.raises(TooMuchText, match="20,001 parts"):
        asyncio.run(lane.find(SpansRequest(("a",), (parts,)), PATIENCE_S))
    assert service.slices == []


# Some two hundred steps of a thousand tokens.
VERY_LONG = "cancel my plan today. " * 20_000


@pytest.mark.ci("long texts")
def test_one_long_text_is_encoded_in_steps_between_which_others_come(service: Watched, lane: SpanLane) -> None:
    order: list[str] = []

    async def found(name: str, content: str) -> None:
        await lane.find(SpansRequest((name,), texts(content)), PATIENCE_S)
        order.append(name)

    async def both() -> None:
        long = asyncio.create_task(found("long", VERY_LONG))
        await asyncio.to_thread(service.entered.wait, PATIENCE_S)
        await asyncio.gather(long, found("short", "a plan"))

    asyncio.run(both())
    assert order == ["short", "long"]
    assert service.steps > 50


def test_nothing_is_encoded_once_the_caller_has_gone(service: Watched, lane: SpanLane) -> None:
    looks = 0

    async def gone() -> bool:
        nonlocal looks
        looks += 1
        return looks == 3

    with pytest.raises(ClientDisconnect):
        asyncio.run(lane.find(SpansRequest(("a",), texts(VERY_LONG)), PATIENCE_S, gone))
    assert service.steps == 3


def test_a_request_that_cannot_be_answered_in_time_is_refused_as_soon_as_that_is_known(service: Watched) -> None:
    """A step takes ten seconds by this clock: after the second it is certain that two hundred take too long."""
    times = itertools.count(0.0, 10.0)
    lane = SpanLane(service, clock=lambda: next(times))
    try:
        with pytest.raises(TooMuchText, match=r"440,000 characters; at about .* in the 200 s"):
            asyncio.run(lane.find(SpansRequest(("a",), texts(VERY_LONG)), PATIENCE_S))
        assert service.steps == 2
        assert asyncio.run(lane.find(SpansRequest(("a",), texts("a plan")), PATIENCE_S)).results
    finally:
        lane.close()


def test_a_slow_text_says_nothing_of_others(service: Watched) -> None:
    """A flag is many tokens: at the pace of flags, most texts would be refused."""
    step_s = 0.0
    now = itertools.accumulate(iter(lambda: step_s, None))
    lane = SpanLane(service, clock=lambda: next(now))
    try:
        asyncio.run(lane.find(SpansRequest(("a",), texts("a plan")), PATIENCE_S))
        step_s = 10.0
        with pytest.raises(TooMuchText):
            asyncio.run(lane.find(SpansRequest(("a",), texts(VERY_LONG)), PATIENCE_S))
        step_s = 0.01
        assert asyncio.run(lane.find(SpansRequest(("a",), texts(VERY_LONG)), PATIENCE_S)).results
    finally:
        lane.close()
