"""Work of administrators: one after the other, within its time, and its errors are the caller's."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from app.calibration.concurrent import ConcurrentThresholds
from app.search.errors import DeadlineExceeded, ShuttingDown
from models.errors import InvalidInput


@pytest.fixture
def tuning() -> Iterator[ConcurrentThresholds]:
    made = ConcurrentThresholds("the service", queue_limit=2)  # type: ignore[arg-type]
    yield made
    made.close()


def test_work_is_done_with_the_service_one_after_the_other(tuning: ConcurrentThresholds) -> None:
    at_work: list[int] = []
    overlapped: list[int] = []

    def work(service: object) -> object:
        overlapped.extend(at_work)
        at_work.append(1)
        threading.Event().wait(0.01)
        at_work.pop()
        return service

    async def together() -> list[object]:
        return await asyncio.gather(tuning.run(work, 10), tuning.run(work, 10))

    assert asyncio.run(together()) == ["the service"] * 2
    assert overlapped == []


def test_errors_are_the_callers_and_the_lane_goes_on(tuning: ConcurrentThresholds) -> None:
    def refuse(_: object) -> None:
        raise InvalidInput("not so")

    with pytest.raises(InvalidInput, match="not so"):
        asyncio.run(tuning.run(refuse, 10))
    assert asyncio.run(tuning.run(lambda _: 7, 10)) == 7


def test_time_has_a_limit_and_what_waits_then_is_never_begun(tuning: ConcurrentThresholds) -> None:
    go_on, done = threading.Event(), []

    async def late() -> None:
        with pytest.raises(DeadlineExceeded, match=r"within 0\.05 s"):
            await tuning.run(lambda _: go_on.wait(30), 0.05)
        with pytest.raises(DeadlineExceeded):
            await tuning.run(done.append, 0.05)

    asyncio.run(late())
    go_on.set()
    tuning.close()
    assert done == []


def test_after_closing_there_is_no_more_work(tuning: ConcurrentThresholds) -> None:
    tuning.close()
    with pytest.raises(ShuttingDown):
        asyncio.run(tuning.run(lambda _: 7, 10))
