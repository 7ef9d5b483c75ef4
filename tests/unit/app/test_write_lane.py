"""The lane of writes: one at a time, behind the searches, and maintenance that never troubles a caller."""

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest

from app.collections.documents import DeletedDocument, DeletedDocuments
from app.http.write_lane import WriteLane
from app.search.errors import DeadlineExceeded, ShuttingDown
from indexer.errors import CollectionBusy, SegmentCorrupt

# Of a try that is refused, by the clock of tests.
TRY_S = 1.0


class Service:
    """Notes what is asked of it, and on which thread."""

    def __init__(self, *maintenance: bool | Exception) -> None:
        self.calls: list[str] = []
        self.niceness: list[int] = []
        self._maintenance = iter(maintenance)

    def delete(self, collection, ids):
        self.calls.append(f"delete {collection}")
        self.niceness.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return DeletedDocuments(tuple(DeletedDocument(id, "deleted") for id in ids), 1)

    def tidy(self, collection, stop):
        self.calls.append(f"tidy {collection}")
        result = next(self._maintenance, True)
        if isinstance(result, Exception):
            raise result
        return result


@pytest.fixture
def made():
    writers = []

    def make(*maintenance):
        service = Service(*maintenance)
        writers.append(WriteLane(service.tidy))
        return service, writers[-1]

    yield make
    for writer in writers:
        writer.close()


def delete(service: Service, writing: WriteLane, *collections: str) -> None:
    """Each is answered before the next is asked; the lane is empty at the end but for maintenance."""

    async def one_by_one():
        for collection in collections:
            await writing.write(collection, partial(service.delete, collection, ["a"]))

    asyncio.run(one_by_one())


def test_maintenance_follows_every_write(made) -> None:
    service, writing = made()
    delete(service, writing, "one", "two", "one")
    writing.close()
    assert [call for call in service.calls if call.startswith("delete")] == ["delete one", "delete two", "delete one"]
    assert service.calls[:4] == ["delete one", "tidy one", "delete two", "tidy two"]


def test_maintenance_that_has_to_wait_is_done_later(made) -> None:
    service, writing = made(False, True)
    delete(service, writing, "one", "two")
    writing.tidy()
    delete(service, writing, "three")
    assert service.calls.count("tidy one") == 2
    writing.tidy()
    delete(service, writing, "four")
    assert service.calls.count("tidy one") == 2


@pytest.mark.parametrize(("error", "again"), [(CollectionBusy("busy"), 1), (SegmentCorrupt("damaged"), 2)])
def test_maintenance_that_fails_is_nobodys_error(made, error, again) -> None:
    service, writing = made(error)
    delete(service, writing, "one", "two")
    writing.tidy()
    delete(service, writing, "three")
    assert service.calls.count("tidy one") == again


def test_closing_leaves_the_maintenance_and_takes_no_more(made) -> None:
    service, writing = made()
    writing.close()
    with pytest.raises(ShuttingDown):
        delete(service, writing, "one")
    assert service.calls == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere priorities belong to processes")
def test_writes_stand_behind_searches(made) -> None:
    service, writing = made()
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    delete(service, writing, "one")
    assert service.niceness == [min(own + 10, 19)]
    with ThreadPoolExecutor(1) as others:
        assert others.submit(os.getpriority, os.PRIO_PROCESS, 0).result() == own


class Busy:
    """A job that is refused so often, and then runs. Each refusal but the first takes a while by ``clock``."""

    def __init__(self, refusals: float, clock: SimpleNamespace | None = None) -> None:
        self.refusals, self.tries = refusals, 0
        self._clock = clock or SimpleNamespace(now=0.0)

    def __call__(self) -> str:
        self.tries += 1
        if self.tries <= self.refusals:
            self._clock.now += TRY_S * (self.tries > 1)
            raise CollectionBusy("another server writes", collection="one")
        return "written"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of those who wait for another server; it only moves when told to."""
    made = SimpleNamespace(now=0.0)
    for module in ("app.http.waiting_writes", "indexer.patience"):
        monkeypatch.setattr(f"{module}.time", SimpleNamespace(monotonic=lambda: made.now))
    return made


@pytest.fixture
def waiting():
    lane = WriteLane(Service().tidy, lease_wait_s=30)
    yield lane
    lane.close()


def test_a_write_waits_for_another_server(waiting) -> None:
    job = Busy(3)
    assert asyncio.run(waiting.write("one", job)) == "written"
    assert job.tries == 4


def test_writes_to_other_collections_pass_one_that_waits(waiting) -> None:
    job = Busy(float("inf"))

    async def both() -> str:
        first = asyncio.create_task(waiting.run(job))
        while not job.tries:
            await asyncio.sleep(0)
        passed = await waiting.run(lambda: "passed")
        job.refusals = 0
        return f"{passed}, {await first}"

    assert asyncio.run(both()) == "passed, written"


@pytest.mark.parametrize(("wait", "tries"), [(0, 1), (TRY_S, 3), (3 * TRY_S, 5)])
def test_a_write_waits_no_longer_than_it_may(clock, wait, tries) -> None:
    lane, job = WriteLane(Service().tidy, lease_wait_s=wait), Busy(float("inf"), clock)
    try:
        with pytest.raises(CollectionBusy):
            asyncio.run(lane.write("one", job))
        assert job.tries == tries
    finally:
        lane.close()


def test_a_write_waits_no_longer_than_its_deadline(clock) -> None:
    lane = WriteLane(Service().tidy, deadline_s=0.2, lease_wait_s=60)
    try:
        with pytest.raises(DeadlineExceeded):
            asyncio.run(lane.write("one", Busy(float("inf"))))
    finally:
        lane.close()


def test_a_lane_that_closes_waits_no_longer(waiting) -> None:
    job = Busy(float("inf"))

    async def closed() -> None:
        write = asyncio.create_task(waiting.run(job))
        while not job.tries:
            await asyncio.sleep(0)
        await asyncio.to_thread(waiting.close)
        await write

    with pytest.raises((CollectionBusy, ShuttingDown)):
        asyncio.run(closed())


def test_nobody_is_refused_while_the_line_moves(clock) -> None:
    """Each waits for longer than it may, because of those before it."""
    lane, jobs = WriteLane(Service().tidy, lease_wait_s=5 * TRY_S), [Busy(5, clock) for _ in range(12)]

    async def all_at_once() -> list[str]:
        return await asyncio.gather(*(lane.run(job) for job in jobs))

    try:
        assert asyncio.run(all_at_once()) == ["written"] * 12
    finally:
        lane.close()
