"""The lane of writes: one at a time, behind the searches, and maintenance that never troubles a caller."""

import asyncio
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import pytest

from app.collections.documents import DeletedDocument, DeletedDocuments
from app.http.write_lane import WriteLane
from app.search.errors import ShuttingDown
from indexer.errors import CollectionBusy, SegmentCorrupt


class Service:
    """Notes what is asked of it, and on which thread."""

    def __init__(self, *maintenance: bool | Exception) -> None:
        self.calls: list[str] = []
        self.niceness: list[int] = []
        self.times: list[tuple[float, float]] = []
        self._maintenance = iter(maintenance)

    def delete(self, collection, ids):
        self.calls.append(f"delete {collection}")
        self.times.append((time.monotonic(), time.monotonic()))
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
            await writing.write(collection, partial(service.delete, collection, ["a"]), 30)

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


def test_writes_without_end_leave_pauses(made, monkeypatch) -> None:
    """A writer of another process, which polls, finds the lease free."""
    monkeypatch.setattr("app.http.turns._TURN_S", 0)
    service, writing = made()
    delete(service, writing, "one", "two", "three")
    gaps = [begun - ended for (_, ended), (begun, _) in pairwise(service.times)]
    assert len(gaps) >= 2
    assert min(gaps) >= 0.09


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere priorities belong to processes")
def test_writes_stand_behind_searches(made) -> None:
    service, writing = made()
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    delete(service, writing, "one")
    assert service.niceness == [min(own + 10, 19)]
    with ThreadPoolExecutor(1) as others:
        assert others.submit(os.getpriority, os.PRIO_PROCESS, 0).result() == own
