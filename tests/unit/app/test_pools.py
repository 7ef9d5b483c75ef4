"""Pools of threads with limits, and callers that wait for tasks without a thread."""

import asyncio
import threading
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.http.pools import Pool
from app.http.task_watch import TaskWatch
from app.search.errors import QueueFull
from app.tasks.answers import Progress, TaskDescription
from indexer.errors import CatalogUnavailable, TaskNotFound

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUNNING = TaskDescription(
    "a", "upload", "c", "running", Progress(0, 9, "bytes"), {}, (), None, False, 1, NOW, NOW, None
)


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool("test", threads=1, limit=3)
    yield made
    made.close()


def test_a_full_pool_refuses_at_once_and_takes_the_next_when_a_job_is_done(pool: Pool) -> None:
    go_on = threading.Event()

    async def several() -> None:
        jobs = [asyncio.create_task(pool.run(lambda: go_on.wait(60))) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await pool.run(lambda: True)
        go_on.set()
        assert await asyncio.gather(*jobs) == [True] * 3
        assert await pool.run(lambda: 7) == 7

    asyncio.run(several())


def test_a_job_that_fails_or_whose_caller_goes_gives_its_place_back(pool: Pool) -> None:
    go_on = threading.Event()

    async def fails() -> None:
        for _ in range(5):
            with pytest.raises(ZeroDivisionError):
                await pool.run(lambda: 1 / 0)
        jobs = [asyncio.create_task(pool.run(lambda: go_on.wait(60))) for _ in range(3)]
        await asyncio.sleep(0)
        for job in jobs:
            job.cancel()
        go_on.set()
        await asyncio.gather(*jobs, return_exceptions=True)
        assert await pool.run(lambda: 7) == 7

    asyncio.run(fails())


class Tasks:
    """What the catalog says of tasks, and how often it was asked."""

    def __init__(self) -> None:
        self.rows, self.looks, self.error = {"a": RUNNING}, 0, None

    def read(self, ids: Collection[str]) -> dict[str, TaskDescription]:
        self.looks += 1
        if self.error is not None:
            raise self.error
        return {id: task for id, task in self.rows.items() if id in ids}


def test_hundreds_wait_for_a_task_by_few_looks_and_hear_of_its_end(pool: Pool) -> None:
    tasks = Tasks()
    watch = TaskWatch(tasks.read, pool, limit=300)

    async def wait() -> None:
        waiting = [asyncio.create_task(watch.wait(RUNNING, 600)) for _ in range(300)]
        while not tasks.looks:
            await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await watch.wait(RUNNING, 600)
        tasks.rows["a"] = done = replace(RUNNING, status="done")
        watch.changed()
        assert await asyncio.gather(*waiting) == [done] * 300
        assert await watch.wait(done, 600) == done

    asyncio.run(wait())
    assert tasks.looks < 10
    watch.changed()  # after the loop was closed


def test_who_waits_gets_the_latest_state_when_the_time_is_up(pool: Pool) -> None:
    tasks = Tasks()
    further = tasks.rows["a"] = replace(RUNNING, progress=Progress(5, 9, "bytes"))
    watch = TaskWatch(tasks.read, pool, limit=1)

    async def wait() -> None:
        assert await watch.wait(RUNNING, 0) is RUNNING
        looking = asyncio.create_task(watch.wait(RUNNING, 0.5))
        assert await looking == further

    asyncio.run(wait())


@pytest.mark.parametrize("error", [None, CatalogUnavailable("The catalog does not answer.")])
def test_who_waits_hears_of_a_deletion_and_of_errors(pool: Pool, error: Exception | None) -> None:
    tasks = Tasks()
    tasks.rows, tasks.error = {}, error
    watch = TaskWatch(tasks.read, pool, limit=1)
    with pytest.raises(TaskNotFound if error is None else CatalogUnavailable):
        asyncio.run(watch.wait(RUNNING, 60))
