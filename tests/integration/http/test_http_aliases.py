"""Aliases over HTTP, and swaps of an alias under searching clients."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.integration.http.conftest import Client

PARCELS = [{"id": f"{side}-{n}", "text": f"Where is my parcel {n}?", "metadata": {"side": side}}
           for side in "ab" for n in range(5)]  # fmt: skip


@pytest.fixture(autouse=True)
def _fresh(monkeypatch) -> None:
    """The server looks at the catalog at every search, and not only a quarter of a second after the last time."""
    monkeypatch.setattr("indexer.freshness.FRESH_S", -1.0)


@pytest.fixture
def client(settings, start) -> Client:
    """Two collections of as many documents, each with a threshold of its own."""
    made = start(settings)
    for side, threshold in (("a", 0.55), ("b", 0.6)):
        send(made, "PUT", f"/collections/calls-{side}", {})
        documents = [each for each in PARCELS if each["metadata"]["side"] == side]
        assert made.post(f"/collections/calls-{side}/documents", documents).status_code == 200
        body = {"mode": "best_span", "value": threshold}
        assert send(made, "PUT", f"/admin/collections/calls-{side}/thresholds", body).status_code == 200
    assert send(made, "PUT", "/aliases/calls", {"collection": "calls-a"}).status_code == 200
    return made


def send(client: Client, method: str, path: str, body: object = None) -> httpx.Response:
    return client.run(client.http.request(method, path, json=body, headers=client.headers))


def aliases(response: httpx.Response) -> dict[str, str]:
    assert response.status_code == 200, response.text
    return {each["name"]: each["collection"] for each in response.json()["aliases"]}


def check_whole(answer: dict[str, Any]) -> str:
    """The collection of an answer, all of which is of one collection."""
    (side,) = {hit["metadata"]["side"] for hit in answer["hits"]}
    assert {hit["document_id"] for hit in answer["hits"]} == {f"{side}-{n}" for n in range(5)}
    assert answer["threshold"]["value"] == {"a": 0.55, "b": 0.6}[side]
    return side


@pytest.mark.smoke
def test_an_alias_is_set_read_and_deleted(client, problem) -> None:
    assert aliases(client.get("/aliases")) == {"calls": "calls-a"}
    assert client.get("/collections/calls").json() == client.get("/collections/calls-a").json()
    assert check_whole(client.search(collection="calls", text="parcel", group_by="document")) == "a"
    assert client.get("/collections/calls/documents").json()["total"] == 5
    new = {"id": "a-9", "text": "A new one."}
    assert client.post("/collections/calls/documents", new).status_code == 200
    assert client.get("/collections/calls-a/documents/a-9").json()["text"] == "A new one."
    phrase = {"text": "my parcel", "threshold": 0.9, "backfill": True}
    assert client.post("/collections/calls/phrases", phrase).status_code == 200
    assert len(client.get("/collections/calls-a/matches").json()["events"]) == 5

    changed = send(client, "PATCH", "/aliases", {"aliases": {"calls": "calls-b", "before": "calls-a"}})
    assert aliases(changed) == {"calls": "calls-b", "before": "calls-a"}
    assert aliases(send(client, "DELETE", "/aliases/before")) == {"calls": "calls-b"}
    problem(send(client, "DELETE", "/aliases/before"), 404, "alias_not_found")


def test_names_are_not_given_twice(client, problem) -> None:
    problem(send(client, "PUT", "/aliases/sample", {"collection": "calls-a"}), 409, "collection_exists")
    problem(send(client, "PUT", "/aliases/new", {"collection": "nobody"}), 404, "collection_not_found")
    problem(send(client, "PUT", "/collections/calls", {}), 409, "alias_exists")
    problem(send(client, "DELETE", "/collections/calls"), 409, "alias_exists")
    problem(send(client, "DELETE", "/collections/calls-a"), 409, "collection_aliased")
    problem(send(client, "PATCH", "/aliases", {"aliases": {}}), 422, "invalid_input")
    assert client.search(collection="calls-a", text="parcel")["hits"]


def test_a_key_for_an_alias_survives_a_swap_and_reaches_nothing_else(client, make_key, problem) -> None:
    admin = make_key("admin")
    client.headers = {"Authorization": f"Bearer {make_key('search', collections=['calls'])}"}
    assert check_whole(client.search(collection="calls", text="parcel", group_by="document")) == "a"
    client.refused(404, "collection_not_found", collection="calls-a", text="parcel")
    problem(send(client, "PUT", "/aliases/calls", {"collection": "calls-b"}), 403, "forbidden")
    client.headers = {"Authorization": f"Bearer {admin}"}
    send(client, "PUT", "/aliases/calls", {"collection": "calls-b"})
    send(client, "PUT", "/aliases/other", {"collection": "calls-b"})
    client.headers = {"Authorization": f"Bearer {make_key('search', collections=['calls'])}"}
    assert aliases(client.get("/aliases")) == {"calls": "calls-b"}
    assert check_whole(client.search(collection="calls", text="parcel", group_by="document")) == "b"


def test_a_key_for_an_alias_lists_its_collection_by_this_name(client, make_key) -> None:
    send(client, "PUT", "/aliases/other", {"collection": "calls-b"})
    own = client.get("/collections/calls-a").json()
    granted = (["calls", "absent"], ["other", "calls-b"])
    by_alias, by_both = [make_key("search", collections=names) for names in granted]

    def listed(key: str) -> list[dict[str, Any]]:
        client.headers = {"Authorization": f"Bearer {key}"}
        return client.get("/collections").json()["collections"]

    assert listed(by_alias) == [own | {"name": "calls"}]
    assert [each["name"] for each in listed(by_both)] == ["calls-b"]


def test_a_hundred_swaps_and_a_reindexing_under_eight_searching_clients(client) -> None:
    """No search fails, and each is answered by one generation of one collection, with its documents and threshold."""
    done, answers = asyncio.Event(), {}

    async def search() -> None:
        while not done.is_set():
            body = {"collection": "calls", "text": "parcel is my where", "group_by": "document"}
            response = await client.http.post("/search", json=body)
            assert response.status_code == 200, response.text
            answer = response.json()
            hits = tuple((hit["document_id"], hit["text"], hit["score"]) for hit in answer["hits"])
            answers.setdefault((check_whole(answer), answer["generation"]), []).append(hits)

    async def swap(number: int) -> None:
        body = {"collection": f"calls-{'ba'[number % 2]}"}
        assert (await client.http.put("/aliases/calls", json=body)).status_code == 200

    async def change() -> None:
        for number in range(50):
            await swap(number)
        body = {"kind": "reindex", "collection": "calls-b", "span_units": {"shortest": 1, "longest": 2}}
        task = (await client.http.post("/tasks", json=body)).json()["id"]
        number = 50
        while number < 100 or (await client.http.get(f"/tasks/{task}")).json()["status"] != "done":
            await swap(number)
            number += 1
        await swap(0)
        searched = sum(map(len, answers.values()))
        while sum(map(len, answers.values())) < searched + 20:  # some of the last generation, too
            await asyncio.sleep(0)
        done.set()

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(search())
            group.create_task(change())

    client.run(run())
    assert all(len(set(hits)) == 1 for hits in answers.values())
    # One generation of the one collection, and of the other those before and after.
    assert [side for side, _ in sorted(answers)] == ["a", "b", "b"]
    (before, *_), (after, *_) = (hits for (side, _), hits in sorted(answers.items()) if side == "b")
    assert before != after
    assert sum(map(len, answers.values())) >= 100
