"""Lanes: batches, a bounded queue, and no caller that is left waiting."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager

import pytest

from app.http.lanes import Lane
from app.search.errors import QueueFull, ShuttingDown
from tests.waiting import PATIENCE_S


@contextmanager
def blocked(work: Callable[[Sequence[int]], Sequence[int]], **options: int) -> Iterator[tuple[Lane[int, int], object]]:
    """A lane that is busy with item 0 until its gate is opened; by then others wait."""
    gate, busy = threading.Event(), threading.Event()

    def guarded(items: Sequence[int]) -> Sequence[int]:
        if items[0] == 0:
            busy.set()
            assert gate.wait(PATIENCE_S)
            return items
        return work(items)

    lane = Lane("test", guarded, **options)
    first = lane.submit(0)
    assert busy.wait(PATIENCE_S)
    try:
        yield lane, gate
    finally:
        gate.set()
        lane.close()
        assert first.result(PATIENCE_S) == 0


def test_those_who_wait_are_served_together() -> None:
    batches: list[list[int]] = []

    def work(items: Sequence[int]) -> Sequence[int]:
        batches.append(list(items))
        return [2 * item for item in items]

    with blocked(work, batch=3) as (lane, gate):
        futures = [lane.submit(item) for item in range(1, 8)]
        assert lane.waiting == 7
        gate.set()
        assert [future.result(PATIENCE_S) for future in futures] == [2, 4, 6, 8, 10, 12, 14]
    assert batches == [[1, 2, 3], [4, 5, 6], [7]]


def test_one_too_many_is_told_at_once() -> None:
    with blocked(lambda items: items, limit=2) as (lane, gate):
        futures = [lane.submit(1), lane.submit(2)]
        with pytest.raises(QueueFull, match="2 requests are waiting already"):
            lane.submit(3)
        gate.set()
        assert [future.result(PATIENCE_S) for future in futures] == [1, 2]
        assert lane.submit(4).result(PATIENCE_S) == 4


def test_cancelled_items_are_not_worked_on() -> None:
    seen: list[int] = []

    def work(items: Sequence[int]) -> Sequence[int]:
        seen.extend(items)
        return items

    with blocked(work) as (lane, gate):
        futures = [lane.submit(item) for item in (1, 2, 3)]
        assert futures[1].cancel()
        gate.set()
        assert futures[2].result(PATIENCE_S) == 3
        with pytest.raises(CancelledError):
            futures[1].result(PATIENCE_S)
    assert seen == [1, 3]


def test_a_batch_of_cancelled_items_is_no_work() -> None:
    with blocked(lambda items: pytest.fail("nobody waits for this")) as (lane, gate):
        assert lane.submit(1).cancel()
        gate.set()


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(), MemoryError()])
def test_an_exception_reaches_all_callers_and_the_lane_lives_on(error: BaseException) -> None:
    def work(items: Sequence[int]) -> Sequence[int]:
        if 13 in items:
            raise error
        return items

    with blocked(work) as (lane, gate):
        futures = [lane.submit(item) for item in (12, 13, 14)]
        gate.set()
        assert [future.exception(PATIENCE_S) for future in futures] == [error] * 3
        assert lane.submit(1).result(PATIENCE_S) == 1


@pytest.mark.parametrize("results", [[], [1, 2]])
def test_a_wrong_number_of_results_hangs_nobody(results: list[int]) -> None:
    with Lane("test", lambda items: results) as lane:
        for _ in range(2):
            assert isinstance(lane.submit(7).exception(PATIENCE_S), AssertionError)


def test_results_that_fail_when_they_are_read_hang_nobody() -> None:
    with Lane("test", lambda items: (1 // 0 for _ in items)) as lane:  # type: ignore[arg-type,return-value]
        assert isinstance(lane.submit(7).exception(PATIENCE_S), ZeroDivisionError)
        assert isinstance(lane.submit(7).exception(PATIENCE_S), ZeroDivisionError)


def test_closing_finishes_the_queue_and_takes_no_more() -> None:
    with blocked(lambda items: items, limit=4, batch=2) as (lane, gate):
        futures = [lane.submit(item) for item in (1, 2, 3, 4)]
        closing = threading.Thread(target=lane.close)
        closing.start()
        while True:
            try:
                lane.submit(5)
            except ShuttingDown:
                break
            except QueueFull:
                pass
        gate.set()
        closing.join(PATIENCE_S)
        assert not closing.is_alive()
        assert [future.result(PATIENCE_S) for future in futures] == [1, 2, 3, 4]
        lane.close()
