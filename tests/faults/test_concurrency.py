"""Sixteen writers on the same ids, eight who search, and jobs, on two servers: the last version of each wins."""

import itertools
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.services import open_store
from app.settings import Settings
from indexer.catalog.schema import upgrade
from indexer.indexing.verification import verify_store
from tests.faults.places import ROUNDS
from tests.serving import running

WRITERS, SEARCHERS, IDS = 16, 8, 12
# Of each writer.
WRITES = 400 if ROUNDS else 6
PATH = "/collections/c"


@dataclass
class History:
    """Every write that was acknowledged: its document, the generation of the answer, and what was written."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    last: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    writes: int = 0

    def note(self, id: str, answer: httpx.Response, text: str | None) -> None:
        with self.lock:
            self.writes += 1
            if answer.status_code != 200:
                self.refused.append(f"{answer.status_code} {answer.text}")
                return
            generation = answer.json()["generation"]
            if generation > self.last.get(id, (-1, None))[0]:
                self.last[id] = (generation, text)


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    url = ""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres")
        server.execute("DROP DATABASE IF EXISTS concurrent WITH (FORCE)")
        server.execute("CREATE DATABASE concurrent")
        url = server.url("concurrent")
    made = Settings(_env_file=None, data_dir=tmp_path / "data", encoder="hashing", database_url=url, grace_s=1)
    made.data_dir.mkdir()
    upgrade(made.catalog_url)
    return made


@pytest.fixture
def servers(settings: Settings) -> Iterator[list[httpx.Client]]:
    with ExitStack() as stack:
        started = [
            stack.enter_context(running(settings, database_url=settings.database_url, lease_wait_s=250, grace_s=1))
            for _ in range(2)
        ]
        yield [client for _, client in started]


@pytest.mark.slow("many writers for a while")
@pytest.mark.timeout(1800)
def test_the_last_version_wins(settings: Settings, servers: list[httpx.Client]) -> None:
    history, written = History(), threading.Event()
    assert servers[0].put(PATH).is_success
    assert servers[0].post(f"{PATH}/phrases", json={"text": "ticket", "threshold": 0.9}).is_success
    with ThreadPoolExecutor(WRITERS + SEARCHERS + len(servers)) as pool:
        writing = [pool.submit(write, servers[n % 2], n, history) for n in range(WRITERS)]
        beside = [pool.submit(search, servers[n % 2], written) for n in range(SEARCHERS)]
        beside += [pool.submit(jobs, server, written) for server in servers]
        wait(writing)
        written.set()
        for each in writing + beside:
            each.result()
    assert history.refused == [], "a write was refused that waiting would have spared"
    assert history.writes == WRITERS * WRITES
    expected = {id: text for id, (_, text) in history.last.items() if text is not None}
    for server in servers:
        while generation_of(server) < max(generation for generation, _ in history.last.values()):
            pass
        listed = server.get(f"{PATH}/documents?limit=1000").json()["documents"]
        texts = {each["id"]: server.get(f"{PATH}/documents/{each['id']}").json()["text"] for each in listed}
        assert texts == expected
    with closing(open_store(settings)) as store:
        assert verify_store(store).damages == ()
        assert store.catalog.collection("c").documents == len(expected)


def generation_of(server: httpx.Client) -> int:
    answer = server.post("/search", json={"collection": "c", "text": "ticket"})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["generation"])


def write(server: httpx.Client, number: int, history: History) -> None:
    chance = random.Random(number)
    for version in range(WRITES):
        id = f"d{chance.randrange(IDS)}"
        if chance.random() < 0.2:
            history.note(id, server.request("DELETE", f"{PATH}/documents", json={"ids": [id]}), None)
        else:
            text = f"Ticket {id} by writer {number}, version {version}."
            history.note(id, server.post(f"{PATH}/documents", json={"id": id, "text": text}), text)


def search(server: httpx.Client, written: threading.Event) -> None:
    seen = 0
    while not written.is_set():
        body: dict[str, Any] = {"collection": "c", "text": "ticket", "group_by": "document", "top_k": 100}
        answer = server.post("/search", json=body)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert "degraded" not in found
        assert found["generation"] >= seen, "a generation came back"
        seen = found["generation"]
        ids = [hit["document_id"] for hit in found["hits"]]
        assert len(set(ids)) == len(ids), "a document was found twice"


def jobs(server: httpx.Client, written: threading.Event) -> None:
    for kind in itertools.cycle(("optimize", "purge", "reindex")):
        if written.is_set():
            return
        task = server.post("/tasks", json={"kind": kind, "collection": "c"})
        assert task.status_code in (200, 202), task.text
        while (told := server.get(f"/tasks/{task.json()['id']}?wait=10").json())["status"] in ("queued", "running"):
            pass
        assert told["status"] == "done", told
