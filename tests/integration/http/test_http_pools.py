"""Searches and keys never wait for uploads, for those who wait for tasks, or for writes to a locked catalog."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx

from app.tasks.spool import BodyWriter
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.catalog.tasks import lock_tasks
from tests.integration.http.conftest import Client

IMPORT = "/collections/sample/documents/import"
LINE = b'{"id": "new", "text": "A new line."}\n'
SEARCH = {"collection": "sample", "text": "cancel my subscription"}
# More than all threads and connections that requests share.
MANY = 60


async def upload(client: Client, content: Any = LINE) -> httpx.Response:
    headers = client.headers | {"Content-Type": "application/x-ndjson"}
    return await client.http.post(IMPORT, content=content, headers=headers)


async def searched(client: Client) -> int:
    answer = await asyncio.wait_for(client.http.post("/search", json=SEARCH, headers=client.headers), 60)
    return answer.status_code


@contextmanager
def locked(client: Client) -> Iterator[None]:
    """Another process holds the lock that all tasks are queued under; of SQLite, that of every write."""
    with closing(Catalog(client.settings.catalog_url)) as other, other.database.write() as connection:
        lock_tasks(connection)
        yield


def test_searches_go_on_while_bodies_are_written(settings, start, make_key, monkeypatch) -> None:
    client = start(settings)
    client.headers = {"Authorization": f"Bearer {make_key('search', 'index')}"}  # looked up for every request
    entered, go_on = threading.Event(), threading.Event()
    real = BodyWriter.write

    def slow(*arguments: Any) -> None:
        entered.set()
        go_on.wait(120)
        real(*arguments)

    monkeypatch.setattr(BodyWriter, "write", slow)

    async def both() -> list[httpx.Response]:
        uploads = [asyncio.create_task(upload(client)) for _ in range(MANY)]
        while not entered.is_set():
            await asyncio.sleep(0)
        assert [await searched(client) for _ in range(3)] == [200] * 3
        go_on.set()
        return await asyncio.gather(*uploads)

    assert {response.status_code for response in client.run(both())} == {202}


def test_searches_go_on_while_writes_wait_for_a_locked_catalog(settings, start, make_key) -> None:
    client = start(settings)
    client.headers = {"Authorization": f"Bearer {make_key('admin')}"}
    body = {"kind": "optimize", "collection": "sample"}

    async def both() -> list[httpx.Response]:
        with locked(client):
            writes = [asyncio.create_task(upload(client)) for _ in range(MANY // 2)]
            writes += [asyncio.create_task(client.http.post("/tasks", json=body, headers=client.headers))
                       for _ in range(MANY)]  # fmt: skip
            for _ in range(MANY):
                await asyncio.sleep(0)
            assert [await searched(client) for _ in range(3)] == [200] * 3
            assert (await client.http.get("/collections/sample", headers=client.headers)).status_code == 200
            assert not any(each.done() for each in writes)
        return await asyncio.gather(*writes)

    assert {response.status_code for response in client.run(both())} == {202}


def test_searches_go_on_while_many_wait_for_a_task(settings, start, problem) -> None:
    client = start(settings.model_copy(update={"connection_limit": 2 * MANY}))
    with lease(client.app.state.backend.store.catalog, "sample"):  # so that it is not done
        id = client.run(upload(client)).json()["id"]

        async def both() -> list[httpx.Response]:
            waits = [asyncio.create_task(client.http.get(f"/tasks/{id}?wait=60")) for _ in range(MANY)]
            while client.app.state.backend.watch.waiting < MANY:
                await asyncio.sleep(0)
            assert [await searched(client) for _ in range(3)] == [200] * 3
            refused = await client.http.get(f"/tasks/{id}?wait=60")
            problem(refused, 429, "too_many_requests")
            assert refused.headers["retry-after"]
            cancelled = await client.http.post(f"/tasks/{id}/cancel", json={})
            assert cancelled.status_code == 200
            return await asyncio.gather(*waits)

        answers = client.run(both())
    assert {(each.status_code, each.json()["status"]) for each in answers} == {(200, "cancelled")}


def test_uploads_that_arrive_at_once_are_limited(settings, start, problem) -> None:
    client = start(settings.model_copy(update={"upload_limit": 1}))

    async def both() -> httpx.Response:
        arriving, go_on = asyncio.Event(), asyncio.Event()

        async def slow() -> AsyncIterator[bytes]:
            yield LINE
            arriving.set()
            await go_on.wait()

        first = asyncio.create_task(upload(client, slow()))
        await arriving.wait()
        refused = await upload(client)
        problem(refused, 429, "too_many_requests")
        assert refused.headers["retry-after"]
        go_on.set()
        assert (await first).status_code == 202
        return await upload(client)

    assert client.run(both()).status_code == 202
