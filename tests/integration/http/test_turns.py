"""An indexing job beside a server that is written to without end."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event

import pytest

import app.collections.jobs
from app.services import open_store
from app.settings import Settings
from indexer.catalog.leases import lease
from indexer.errors import CollectionBusy
from indexer.indexing.pipeline import IndexJob, IndexReport, JobHooks
from indexer.patience import Patience
from models.encoders.registry import load_encoder
from models.types import Document, Part
from tests.integration.http.conftest import Client
from tests.waiting import PATIENCE_S

RECORDS = [Document(f"job-{number}", (Part(f"a document of the job, number {number}"),)) for number in range(20)]


def index(settings: Settings, hooks: JobHooks) -> IndexReport:
    store = open_store(settings)
    with closing(store.catalog):
        return IndexJob(store, load_encoder("hashing"), store.catalog.collection("sample"), hooks).run(RECORDS)


async def write(client: Client, ends: Callable[[], bool]) -> Counter[int]:
    """Several callers that delete without a pause, so that the lane is never empty, and the statuses of the answers."""
    statuses: Counter[int] = Counter()

    async def one_caller() -> None:
        while not ends():
            response = await client.http.delete("/collections/sample/documents/no-such")
            statuses[response.status_code] += 1

    await asyncio.gather(*(one_caller() for _ in range(4)))
    return statuses


@pytest.mark.slow("writers that wait for each other")
def test_a_job_gets_its_turn(settings: Settings, start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writes follow each other closely, and each takes a quarter of a second, the first until the job has come."""
    client, refusals = start(settings), []
    writing, refused = Event(), Event()

    def note(error: CollectionBusy) -> None:
        refusals.append(error)
        refused.set()

    def slow(*_: object) -> tuple[frozenset[str], int]:
        writing.set()
        assert refused.wait(PATIENCE_S)
        Event().wait(0.25)
        return frozenset(), 1

    def begin() -> IndexReport:
        assert writing.wait(PATIENCE_S)
        return index(settings, JobHooks(busy=Patience(PATIENCE_S, begin=note)))

    monkeypatch.setattr(app.collections.jobs, "remove", slow)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(begin)
        statuses = client.run(write(client, job.done))
    assert job.result().documents == len(RECORDS)
    assert len(refusals) == 1
    assert statuses[200] > 0
    assert set(statuses) <= {200, 409}


def test_it_does_not_wait_for_ever(settings: Settings) -> None:
    begun: list[CollectionBusy] = []
    with closing(open_store(settings).catalog) as catalog, lease(catalog, "sample", holder="the night job"):
        with pytest.raises(CollectionBusy, match="the night job"):
            index(settings, JobHooks(busy=Patience(0.1, begin=begun.append)))
        assert len(begun) == 1
        with pytest.raises(CollectionBusy):
            index(settings, JobHooks(busy=Patience(0)))


def test_it_stops_waiting_when_it_is_interrupted(settings: Settings) -> None:
    stop = Event()
    with closing(open_store(settings).catalog) as catalog, lease(catalog, "sample", holder="the night job"):
        busy = Patience(9999, stop=stop.is_set, begin=lambda _: stop.set())
        with pytest.raises(CollectionBusy):
            index(settings, JobHooks(busy=busy))
