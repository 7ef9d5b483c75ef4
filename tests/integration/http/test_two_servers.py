"""Two server processes on one catalog and one data folder: what one writes the other answers, and tasks run once."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.settings import Settings
from indexer.catalog.schema import upgrade
from tests.serving import running
from tests.waiting import until

PATH = "/collections/calls"
WRITERS, WRITES = 16, 4


@pytest.fixture
def servers(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    database_url = "" if backend == "sqlite" else request.getfixturevalue("url")
    settings = Settings(_env_file=None, data_dir=tmp_path / "data", encoder="hashing", database_url=database_url)
    settings.data_dir.mkdir()
    upgrade(settings.catalog_url)
    with (
        running(settings, database_url=database_url, lease_wait_s=60) as (_, first),
        running(settings, database_url=database_url, lease_wait_s=60) as (_, second),
    ):
        yield first, second


def hits(server: httpx.Client) -> list[str]:
    return [hit["document_id"] for hit in search(server)["hits"]]


def metadata_by_id(server: httpx.Client) -> dict[str, dict[str, Any]]:
    documents = ok(server.get(f"{PATH}/documents?limit=1000"))["documents"]
    return {document["id"]: document["metadata"] for document in documents}


def search(server: httpx.Client) -> dict[str, Any]:
    body = {"collection": "calls", "text": "cancel my subscription", "group_by": "document"}
    return ok(server.post("/search", json=body))


def ok(response: httpx.Response) -> dict[str, Any]:
    assert response.is_success, response.text
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.ci("two servers")
def test_what_one_server_changes_the_other_answers(servers) -> None:
    first, second = servers
    ok(first.put(PATH))
    ok(first.post(f"{PATH}/documents", json={"id": "a", "text": "Please cancel my subscription."}))
    until(lambda: hits(second) == ["a"])
    document = {"id": "b", "text": "I cancel my subscription."}
    ok(second.post(f"{PATH}/documents", json=document))  # it waits while the first one merges
    until(lambda: sorted(hits(first)) == ["a", "b"])
    ok(first.delete(f"{PATH}/documents/a"))
    until(lambda: hits(second) == ["b"])
    ok(first.put(f"/admin{PATH}/thresholds", json={"value": 0.25}))
    until(lambda: search(second)["threshold"]["value"] == 0.25)
    ok(second.put(f"/admin{PATH}/thresholds", json={"value": 0.5}))
    until(lambda: search(first)["threshold"]["value"] == 0.5)


@pytest.mark.ci("two servers")
def test_writers_of_both_servers_wait_for_each_other(servers) -> None:
    """A balancer sends sixteen writers to two servers: nobody is refused, and nothing is lost."""
    ok(servers[0].put(PATH))

    def write(writer: int) -> list[str]:
        server = servers[writer % 2]
        documents = [{"id": f"{writer}-{n}", "text": f"Ticket {writer} {n}"} for n in range(WRITES)]
        answers = [server.post(f"{PATH}/documents", json=document) for document in documents]
        answers.append(server.delete(f"{PATH}/documents/{writer}-0"))
        answers.append(server.patch(f"{PATH}/documents/{writer}-1", json={"metadata": {"by": writer}}))
        return [answer.text for answer in answers if answer.status_code != 200]

    with ThreadPoolExecutor(WRITERS) as pool:
        refused = [answer for each in pool.map(write, range(WRITERS)) for answer in each]
    assert refused == []
    expected = {f"{writer}-{n}": {} for writer in range(WRITERS) for n in range(1, WRITES)}
    expected |= {f"{writer}-1": {"by": writer} for writer in range(WRITERS)}
    for server in servers:
        until(lambda server=server: metadata_by_id(server) == expected)


@pytest.mark.ci("two servers")
def test_tasks_run_once_whichever_server_was_asked(servers) -> None:
    """A task that ran twice would find its documents unchanged, or have two results for a line."""
    first, second = servers
    ok(first.put(PATH))
    ids = []
    for number in range(8):
        lines = "".join(json.dumps({"id": f"{number}-{n}", "text": f"Ticket {number} {n}"}) + "\n" for n in range(20))
        headers = {"Content-Type": "application/x-ndjson"}
        ids.append(ok(servers[number % 2].post(f"{PATH}/documents/import", content=lines, headers=headers))["id"])
    for number, id in enumerate(ids):
        until(lambda id=id: ok(second.get(f"/tasks/{id}?wait=10"))["status"] == "done")
        results = [json.loads(line) for line in first.get(f"/tasks/{id}/results").text.splitlines()]
        assert [(each["line"], each["id"], each["status"]) for each in results] == [
            (n + 1, f"{number}-{n}", "indexed") for n in range(20)
        ]
    for server in servers:  # each sees what the other published half a second later
        until(lambda server=server: ok(server.get(PATH))["documents"] == 160)
    assert {task["id"] for task in ok(second.get("/tasks"))["tasks"]} == set(ids)
