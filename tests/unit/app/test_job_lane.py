"""Work of administrators: one after the other, within its time, and its errors are the caller's."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from app.http.lanes import JobLane
from app.search.errors import DeadlineExceeded, QueueFull, ShuttingDown
from models.errors import InvalidInput
from models.interruption import Interrupted, checkpoint
from tests.waiting import PATIENCE_S


@pytest.fixture
def tuning() -> Iterator[JobLane]:
    with JobLane("tune", timeout="Not done within {seconds:g} s.", hint="Ask for less.", limit=2) as lane:
        yield lane


def test_jobs_run_one_after_the_other(tuning: JobLane) -> None:
    at_work: list[int] = []
    overlapped: list[int] = []

    def work() -> str:
        overlapped.extend(at_work)
        at_work.append(1)
        threading.Event().wait(0.01)
        at_work.pop()
        return "done"

    async def together() -> list[str]:
        return await asyncio.gather(tuning.run(work, PATIENCE_S), tuning.run(work, PATIENCE_S))

    assert asyncio.run(together()) == ["done"] * 2
    assert overlapped == []


def test_errors_are_the_callers_and_the_lane_goes_on(tuning: JobLane) -> None:
    def refuse() -> None:
        raise InvalidInput("not so")

    with pytest.raises(InvalidInput, match="not so"):
        asyncio.run(tuning.run(refuse, PATIENCE_S))
    assert asyncio.run(tuning.run(lambda: 7, PATIENCE_S)) == 7


def test_time_has_a_limit_and_what_waits_then_is_never_begun(tuning: JobLane) -> None:
    go_on, done = threading.Event(), []

    async def late() -> None:
        with pytest.raises(DeadlineExceeded, match=r"within 0\.05 s"):
            await tuning.run(lambda: go_on.wait(PATIENCE_S), 0.05)
        with pytest.raises(DeadlineExceeded):
            await tuning.run(lambda: done.append(1), 0.05)

    asyncio.run(late())
    go_on.set()
    tuning.close()
    assert done == []


def test_a_job_that_has_begun_ends_at_its_next_checkpoint(tuning: JobLane) -> None:
    ended = threading.Event()

    def endless() -> None:
        try:
            while True:
                checkpoint()
        except Interrupted:
            ended.set()
            raise

    with pytest.raises(DeadlineExceeded):
        asyncio.run(tuning.run(endless, 0.05))
    assert ended.wait(PATIENCE_S)


def test_a_lane_that_finishes_does_not_end_what_has_begun() -> None:
    go_on, done = threading.Event(), threading.Event()

    def write() -> None:
        assert go_on.wait(PATIENCE_S)
        checkpoint()
        done.set()

    with JobLane("write", timeout="Not within {seconds:g} s.", hint="Retry.", finishes=True) as lane:
        with pytest.raises(DeadlineExceeded):
            asyncio.run(lane.run(write, 0.05))
        go_on.set()
    assert done.is_set()


def test_after_closing_there_is_no_more_work(tuning: JobLane) -> None:
    tuning.close()
    with pytest.raises(ShuttingDown):
        asyncio.run(tuning.run(lambda: 7, PATIENCE_S))


def test_a_job_that_would_wait_longer_than_its_deadline_is_refused_at_once() -> None:
    times = iter([0.0, 4.0, 4.0])
    running, gate = threading.Event(), threading.Event()

    def hold() -> None:
        running.set()
        assert gate.wait(PATIENCE_S)

    with JobLane("count", timeout="Not counted.", hint="Ask for less.", clock=lambda: next(times, 4.0)) as lane:
        lane.submit(lambda: None).result(PATIENCE_S)  # it took four seconds
        held = lane.submit(hold)
        assert running.wait(PATIENCE_S)
        waiting = [lane.submit(lambda: "done") for _ in range(3)]
        with pytest.raises(QueueFull, match="longer than the 10 s that are left"):
            asyncio.run(lane.run(lambda: None, 10))
        last = lane.submit(lambda: "last", 13)
        gate.set()
        assert [each.result(PATIENCE_S) for each in (held, *waiting, last)] == [None, "done", "done", "done", "last"]
