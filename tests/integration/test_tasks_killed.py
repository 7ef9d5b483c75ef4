"""A server that is killed at any moment resumes its uploads: nothing is lost, and nothing is there twice."""

import http.client
import json
import random
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from app.services import open_store
from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.indexing.stats import collection_stats
from indexer.indexing.verification import verify_collection
from indexer.types import Recipe
from models.encoders.registry import load_encoder
from tests.faults.places import ROUNDS
from tests.serving import running
from tests.waiting import PATIENCE_S, until

KILLS = 20 if ROUNDS else 6
DOCUMENTS = 20_000 if ROUNDS else 8_000
IMPORT = "/collections/c/documents/import"
HEADERS = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def settings(url: str, tmp_path: Path) -> Settings:
    """An empty collection ``c``."""
    made = Settings(_env_file=None, data_dir=tmp_path / "data", encoder="hashing", database_url=url, grace_s=0)
    made.data_dir.mkdir()
    encoder = load_encoder("hashing")
    with closing(Catalog(url)) as catalog:
        catalog.create_collection("c", Recipe("hashing", encoder.fingerprint, encoder.dim))
    return made


def body(first: int) -> bytes:
    """Documents, every hundredth of them invalid."""
    texts = (
        f"Call {n}: " + "the zeppelin is late again " * 8 if n % 100 else 7 for n in range(first, first + DOCUMENTS)
    )
    lines = ({"id": f"d{first + n:07d}", "text": text} for n, text in enumerate(texts))
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def server(settings: Settings) -> Any:
    return running(settings, database_url=settings.database_url, grace_s=0)


def upload(client: httpx.Client, first: int) -> str:
    response = client.post(IMPORT, content=body(first), headers=HEADERS)
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


def wait(client: httpx.Client, id: str) -> dict[str, Any]:
    while True:
        task: dict[str, Any] = client.get(f"/tasks/{id}?wait=30").json()
        if task["status"] not in ("queued", "running"):
            return task


def started(client: httpx.Client, id: str, before: int) -> int:
    """Wait until this server has started a task as well; how often it was started."""
    until(lambda: client.get(f"/tasks/{id}").json()["starts"] > before)
    return int(client.get(f"/tasks/{id}").json()["starts"])


@pytest.mark.slow("kills servers")
@pytest.mark.timeout(900)
def test_kills_lose_nothing_and_repeat_nothing(settings: Settings) -> None:
    moments, ids, progress, starts = random.Random(25), [], {}, 0
    for _ in range(KILLS):
        with server(settings) as (process, client):
            if not ids or client.get(f"/tasks/{ids[-1]}").json()["status"] == "done":
                ids.append(upload(client, len(ids) * DOCUMENTS))
                starts = 0
            starts = started(client, ids[-1], starts)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=moments.uniform(0, 1.5))
            for id in ids:
                done = client.get(f"/tasks/{id}").json()["progress"]["done"]
                assert done >= progress.get(id, 0)
                progress[id] = done
            process.kill()
            process.wait(timeout=PATIENCE_S)
    with server(settings) as (_, client):
        tasks = [wait(client, id) for id in ids]
        results = [client.get(f"/tasks/{id}/results").text.splitlines() for id in ids]
    assert sum(task["starts"] for task in tasks) >= KILLS
    for task, lines in zip(tasks, results, strict=True):
        assert task["status"] == "done", task
        assert [json.loads(line)["line"] for line in lines] == list(range(1, DOCUMENTS + 1))
        assert task["progress"]["done"] == task["progress"]["total"]
        counts = task["counts"]
        assert (counts["failed"], counts["indexed"] + counts["unchanged"]) == (DOCUMENTS // 100, DOCUMENTS * 99 // 100)
    store = open_store(settings)
    with closing(store.catalog) as catalog:
        stats, expected = collection_stats(store, "c"), len(ids) * DOCUMENTS * 99 // 100
        assert stats.documents == expected
        stored = [view.segment.document_id(row) for view in store.snapshot("c").views
                  for row in view.live_documents.nonzero()[0].tolist()]  # fmt: skip
        assert len(stored) == len(set(stored)) == expected
        assert verify_collection(store, catalog.collection("c")) == []
    assert not list((settings.data_dir / "tasks").glob("*/body*"))


@pytest.mark.slow("kills servers")
def test_a_connection_that_is_cut_leaves_what_was_acknowledged(settings: Settings) -> None:
    with server(settings) as (_, client):
        first = upload(client, 0)
        address = urlsplit(str(client.base_url))
        connection = http.client.HTTPConnection(str(address.hostname), address.port)
        whole = body(DOCUMENTS)
        connection.putrequest("POST", IMPORT)
        for name, value in (*HEADERS.items(), ("Content-Length", str(len(whole)))):
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(whole[: len(whole) // 2])
        connection.close()
        assert wait(client, first)["counts"]["indexed"] == DOCUMENTS * 99 // 100
        assert [task["id"] for task in client.get("/tasks").json()["tasks"]] == [first]
        until(lambda: not list((settings.data_dir / "tasks").glob("*/body*")))
        second = upload(client, DOCUMENTS)
        assert wait(client, second)["counts"]["indexed"] == DOCUMENTS * 99 // 100
