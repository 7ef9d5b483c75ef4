"""Documents come and go while the server answers searches."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Event

import httpx
import pytest

from app.collections.documents import DocumentService
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import lease
from indexer.indexing.encode import SplitDocument
from tests.integration.http.conftest import Client
from tests.waiting import PATIENCE_S, advance_loop

PATH = "/collections/sample/documents"
NEW = {"id": "call/9 ü", "text": "Is the zeppelin late?", "metadata": {"kind": "call"}}


@pytest.fixture
def client(settings, start) -> Client:
    return start(settings)


def delete(client: Client, path: str, **options) -> httpx.Response:
    return client.run(client.http.request("DELETE", path, headers=client.headers, **options))


def written(response: httpx.Response) -> list[tuple]:
    assert response.status_code == 200, response.text
    return [(item["id"], item["status"], item.get("error", {}).get("code")) for item in response.json()["results"]]


def deleted(response: httpx.Response) -> list[tuple]:
    assert response.status_code == 200, response.text
    return [(item["id"], item["status"]) for item in response.json()["results"]]


def found(client: Client, text: str) -> list[tuple]:
    hits = client.search(text=text, threshold=0.999)["hits"]
    return [(hit["document_id"], hit["text"]) for hit in hits]


@pytest.mark.smoke
def test_a_document_comes_changes_and_goes(client) -> None:
    response = client.post(PATH, NEW)
    assert written(response) == [(NEW["id"], "indexed", None)]
    assert response.json()["generation"] == client.search(text="zeppelin")["generation"] == 2
    assert found(client, "zeppelin") == [(NEW["id"], "zeppelin")]
    assert written(client.post(PATH, NEW)) == [(NEW["id"], "unchanged", None)]
    assert written(client.post(PATH, NEW | {"text": "Is the balloon late?"})) == [(NEW["id"], "indexed", None)]
    assert found(client, "zeppelin") == []
    assert found(client, "balloon") == [(NEW["id"], "balloon")]
    response = delete(client, f"{PATH}/call%2F9%20%C3%BC")
    assert deleted(response) == [(NEW["id"], "deleted")]
    assert found(client, "balloon") == []
    assert deleted(delete(client, f"{PATH}/call%2F9%20%C3%BC")) == [(NEW["id"], "not_found")]
    assert client.get("/collections/sample").json()["documents"] == 43


def test_ids_in_the_body_in_the_query_and_in_both(client) -> None:
    assert deleted(delete(client, PATH, json={"ids": ["call-1", "never", "call-1"]})) == [
        ("call-1", "deleted"), ("never", "not_found"), ("call-1", "deleted"),
    ]  # fmt: skip
    assert deleted(delete(client, f"{PATH}?id=call-2&id=call-1")) == [("call-2", "deleted"), ("call-1", "not_found")]
    response = delete(client, f"{PATH}?id=filler-1", json={"ids": ["filler-2"]})
    assert deleted(response) == [("filler-2", "deleted"), ("filler-1", "deleted")]
    assert found(client, "subscription") == []
    assert {hit["document_id"] for hit in client.search(text="router 1 is slow", top_k=100)["hits"]}.isdisjoint(
        {"filler-1", "filler-2"}
    )


@pytest.mark.smoke
def test_each_document_has_its_own_result(client, problem, monkeypatch) -> None:
    huge = property(lambda item: 999 if item.document.id == "huge" else 1)
    monkeypatch.setattr(SplitDocument, "longest_unit", huge)
    sent = [
        {"id": "a", "text": "one"},
        {"id": "b", "text": 7},
        {"id": "\ud800", "text": "x"},
        "no object",
        {"id": "huge", "text": "x"},
        {"id": 7, "parts": [{"text": "two"}, {"text": "three", "metadata": {"n": 1}}]},
        {"id": "a", "text": "last"},
    ]
    expected = [
        ("a", "indexed", None), ("b", "failed", "invalid_document"), (None, "failed", "invalid_document"),
        (None, "failed", "invalid_document"), ("huge", "failed", "invalid_document"), ("7", "indexed", None),
        ("a", "indexed", None),
    ]  # fmt: skip
    response = client.post_raw(PATH, json.dumps(sent))
    assert written(response) == expected
    assert "999 tokens" in response.json()["results"][4]["error"]["detail"]
    lines = "\r\n".join(map(json.dumps, sent)) + "\n\n{broken\n"
    response = client.post_raw(PATH, lines, "application/x-ndjson; charset=utf-8")
    unchanged = [(id, "unchanged" if status == "indexed" else status, code) for id, status, code in expected]
    assert written(response) == [*unchanged, (None, "failed", "bad_json")]
    assert response.json()["results"][-1]["error"]["detail"].startswith("Line 9: not valid JSON")
    assert response.json()["generation"] == 2


@pytest.mark.parametrize(
    ("content", "content_type", "status", "code"),
    [
        ("{broken", "application/json", 400, "bad_json"),
        ('{"id": "a", "text": "x"}\n{"id": "b", "text": "x"}', "application/json", 400, "bad_json"),
        (b'"\xff"', "application/json", 400, "bad_json"),
        ("[" * 100_000, "application/json", 400, "bad_json"),
        ("[]", "application/json", 422, "invalid_input"),
        ("", "application/x-ndjson", 422, "invalid_input"),
        ("id,text", "text/csv", 415, "unsupported_media_type"),
    ],
)
def test_bodies_that_are_not_documents(client, problem, content, content_type, status, code) -> None:
    assert problem(client.post_raw(PATH, content, content_type), status, code)["hint"]
    assert client.get("/collections/sample").json()["generation"] == 1


def test_bad_deletions(client, problem) -> None:
    problem(delete(client, PATH), 422, "invalid_input")
    assert problem(delete(client, PATH, json={"ids": []}), 422, "invalid_input")["errors"][0]["field"] == "ids"
    problem(delete(client, PATH, json={"ids": ["a"], "all": True}), 422, "invalid_input")
    problem(delete(client, PATH, json={"ids": [1]}), 422, "invalid_input")
    problem(delete(client, f"{PATH}?id="), 422, "invalid_input")
    problem(delete(client, f"{PATH}/a%00b"), 422, "invalid_input")


def test_a_collection_that_is_not_there(client, problem) -> None:
    assert "sample" in problem(client.post("/collections/no/documents", NEW), 404, "collection_not_found")["hint"]
    problem(delete(client, "/collections/no/documents?id=a"), 404, "collection_not_found")


def test_a_body_that_is_too_large(settings, start, problem) -> None:
    client = start(settings.model_copy(update={"body_limit_bytes": 100}))
    problem(client.post(PATH, NEW | {"text": "x" * 100}), 413, "body_too_large")


def test_the_scope_is_index(client, make_key, problem) -> None:
    keys = {name: make_key(name) for name in ("search", "index", "admin")}
    keys["elsewhere"] = make_key("index", collections=["another"])
    problem(client.post(PATH, NEW), 401, "unauthenticated")
    for name, token in keys.items():
        client.headers = {"Authorization": f"Bearer {token}"}
        if name in ("search", "elsewhere"):
            refusal = (403, "forbidden") if name == "search" else (404, "collection_not_found")
            problem(client.post(PATH, NEW), *refusal)
            problem(delete(client, PATH, json={"ids": ["call-1"]}), *refusal)
            problem(delete(client, f"{PATH}/call-1"), *refusal)
        else:
            assert client.post(PATH, NEW).status_code == 200
            assert delete(client, f"{PATH}/{name}").status_code == 200


def test_another_writer_is_a_clear_error_that_passes(client, settings, problem) -> None:
    with closing(Catalog(settings.catalog_url)) as catalog, lease(catalog, "sample", holder="the night job"):
        for response in (client.post(PATH, NEW), delete(client, f"{PATH}/call-1")):
            assert "the night job" in problem(response, 409, "collection_busy")["detail"]
            assert response.headers["retry-after"] == "1"
    assert written(client.post(PATH, NEW)) == [(NEW["id"], "indexed", None)]


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Event, Event]]:
    """Writes begin, say so, and wait to be let go."""
    entered, go, real = Event(), Event(), DocumentService.upsert

    def waiting(self, *arguments):
        entered.set()
        assert go.wait(PATIENCE_S)
        return real(self, *arguments)

    monkeypatch.setattr(DocumentService, "upsert", waiting)
    try:
        yield entered, go
    finally:
        go.set()


def test_searches_go_on_while_documents_are_written(client, monkeypatch) -> None:
    with held(monkeypatch) as (entered, go):

        async def both():
            writing = asyncio.create_task(client.http.post(PATH, json=NEW))
            await asyncio.to_thread(entered.wait, PATIENCE_S)
            query = {"collection": "sample", "text": "cancel my subscription"}
            answer = await client.http.post("/search", json=query)
            assert not writing.done()
            go.set()
            return answer, await writing

        answer, response = client.run(both())
    assert answer.json()["hits"][0]["text"] == "cancel my subscription"
    assert written(response) == [(NEW["id"], "indexed", None)]


def test_a_write_that_takes_too_long_is_504_and_goes_on(settings, monkeypatch, problem) -> None:
    with Client(settings.model_copy(update={"write_deadline_s": 60.0})) as client, held(monkeypatch) as (entered, go):

        async def late():
            writing = asyncio.create_task(client.http.post(PATH, json=NEW))
            assert await asyncio.to_thread(entered.wait, PATIENCE_S)
            advance_loop(monkeypatch, 61)
            return await writing

        problem(client.run(late()), 504, "deadline_exceeded")
        go.set()
    with Client(settings) as again:
        assert found(again, "zeppelin") == [(NEW["id"], "zeppelin")]


def test_too_many_writes_at_once_are_429(settings, start, monkeypatch, problem) -> None:
    client = start(settings.model_copy(update={"queue_limit": 1}))
    with held(monkeypatch) as (entered, go):

        async def overload():
            first = asyncio.create_task(client.http.post(PATH, json=NEW))
            await asyncio.to_thread(entered.wait, PATIENCE_S)
            others = [asyncio.create_task(client.http.delete(f"{PATH}/call-{n}")) for n in (1, 2)]
            done, _ = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
            go.set()
            await asyncio.gather(first, *others)
            return done.pop().result()

        problem(client.run(overload()), 429, "too_many_requests")


def test_small_writes_are_merged_behind_the_answers(client, settings) -> None:
    """The lane is first in, first out: when a write is answered, maintenance after the one before is done."""
    for number in range(9):
        client.post(PATH, {"id": f"new-{number}", "text": f"zeppelin {number}"})
    with closing(Catalog(settings.catalog_url)) as catalog:
        sizes = [one.info.documents for one in catalog.live_generation("sample").segments]
    assert sorted(sizes) == [1, 8, 43]
    assert found(client, "zeppelin 4") == [("new-4", "zeppelin 4")]


def test_an_idle_server_lets_go_of_what_was_replaced(settings, start) -> None:
    client = start(settings.model_copy(update={"grace_s": 0.0}))
    backend = client.app.state.backend
    client.search(text="cancel")
    before = backend.store.snapshot("sample")
    delete(client, PATH, json={"ids": [f"filler-{n}" for n in range(40)]})
    client.post(PATH, NEW)
    backend.refresh()
    ((opened, _),) = backend.store._snapshots._values.values()
    after = opened.snapshot
    assert after.generation.number > before.generation.number
    assert {view.segment.folder for view in after.views}.isdisjoint({view.segment.folder for view in before.views})
    assert not any(view.segment.folder.exists() for view in before.views)


@pytest.mark.ci("many documents")
def test_a_request_has_20_000_parts_at_most(client, problem) -> None:
    half = {"id": "a", "parts": [{"text": ""}] * 10_000}
    assert written(client.post(PATH, [half, half | {"id": "b"}])) == [("a", "indexed", None), ("b", "indexed", None)]
    refused = problem(client.post(PATH, [half, half | {"id": "b"}, {"id": "c", "text": "x"}]), 422, "invalid_input")
    assert "20,000 parts" in refused["detail"]
    lines = b'{"id": 1, "text": "x"}\n' * 20_001
    problem(client.post_raw(PATH, lines, "application/x-ndjson"), 422, "invalid_input")
    too_many = {"id": "c", "parts": [{"text": "a"}] * 100_000}
    assert written(client.post(PATH, too_many)) == [("c", "failed", "invalid_document")]
