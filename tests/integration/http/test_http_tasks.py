"""Uploads and other long work as tasks: queued, watched, cancelled, resumed; results by line."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from threading import Event
from typing import Any

import httpx
import pytest

from app.collections.documents import DocumentService
from app.tasks.answers import TaskDescription, TaskPage
from indexer.catalog import claims
from indexer.catalog.leases import lease
from indexer.errors import StorageFull
from tests.integration.http.conftest import Client, read_answer
from tests.waiting import PATIENCE_S, advance_loop

IMPORT = "/collections/sample/documents/import"
NDJSON = "application/x-ndjson"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch) -> None:
    monkeypatch.setattr("indexer.freshness.FRESH_S", -1.0)


@pytest.fixture
def client(settings, start) -> Client:
    return start(settings.model_copy(update={"grace_s": 0.0}))


def lines(values: Iterable[object]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def calls(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [{"id": f"new-{n}", "text": f"Call {n} about zeppelin {n}."} for n in range(first, first + count)]


def send(client: Client, body: Any, content_type: str = NDJSON, path: str = IMPORT, **headers: str) -> httpx.Response:
    headers |= client.headers | {"Content-Type": content_type}
    return client.run(client.http.post(path, content=body, headers=headers))


def queued(response: httpx.Response) -> str:
    assert response.status_code == 202, response.text
    return response.json()["id"]


def ended(client: Client, id: str) -> TaskDescription:
    return read_answer(TaskDescription, client.get(f"/tasks/{id}?wait=60"))


def results(client: Client, id: str) -> list[dict[str, Any]]:
    response = client.get(f"/tasks/{id}/results")
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


@pytest.mark.smoke
def test_an_upload_is_indexed_and_each_line_has_one_result(client) -> None:
    body = lines([*calls(3), {"id": "bad", "text": 7}]) + b"\n{no json}\n" + lines([calls(1)[0], calls(1, 9)[0]])
    task = ended(client, queued(send(client, body)))
    assert (task.status, task.kind, task.collection, task.starts) == ("done", "upload", "sample", 1)
    assert (task.progress.done, task.progress.total) == (len(body), len(body))
    # Of an id that occurs twice the last line counts, and both have its result.
    assert task.counts == {"indexed": 5, "unchanged": 0, "failed": 2}
    assert [(each.line, each.id, each.code) for each in task.errors] == [
        (4, "bad", "invalid_document"), (6, None, "invalid_document"),
    ]  # fmt: skip
    assert [(each["line"], each["id"], each["status"]) for each in results(client, task.id)] == [
        (1, "new-0", "indexed"), (2, "new-1", "indexed"), (3, "new-2", "indexed"), (4, "bad", "failed"),
        (6, None, "failed"), (7, "new-0", "indexed"), (8, "new-9", "indexed"),
    ]  # fmt: skip
    assert client.get("/collections/sample/documents/new-9").json()["text"] == "Call 9 about zeppelin 9."
    again = ended(client, queued(send(client, lines(calls(3)))))
    assert again.counts == {"indexed": 0, "unchanged": 3, "failed": 0}
    assert again.result is not None
    assert again.result["generation"] == client.get("/collections/sample").json()["generation"]


@pytest.mark.smoke
def test_gzip_and_csv_are_read_as_they_arrive(client, problem) -> None:
    packed = gzip.compress(lines(calls(20))) + gzip.compress(lines(calls(5, 20)))  # two members

    async def pieces() -> AsyncIterator[bytes]:
        for begin in range(0, len(packed), 7):
            yield packed[begin : begin + 7]

    task = ended(client, queued(send(client, pieces(), **{"Content-Encoding": "gzip"})))
    assert task.counts == {"indexed": 25, "unchanged": 0, "failed": 0}
    assert task.progress.done == task.progress.total == len(lines(calls(25)))
    table = b"id,text,kind\nrow-1,A zeppelin.,call\nrow-2\n"
    task = ended(client, queued(send(client, table, "text/csv")))
    assert task.counts == {"indexed": 1, "unchanged": 0, "failed": 1}
    assert client.get("/collections/sample/documents/row-1").json()["metadata"] == {"kind": "call"}
    problem(send(client, packed[:-4], **{"Content-Encoding": "gzip"}), 422, "invalid_input")
    problem(send(client, b"no gzip", **{"Content-Encoding": "gzip"}), 422, "invalid_input")
    problem(send(client, b"{}", "application/json"), 415, "unsupported_media_type")
    problem(send(client, b"{}", **{"Content-Encoding": "br"}), 415, "unsupported_media_type")
    problem(send(client, b""), 422, "invalid_input")
    problem(send(client, b"{}", path="/collections/nobody/documents/import"), 404, "collection_not_found")
    assert [each["status"] for each in client.get("/tasks").json()["tasks"]] == ["done", "done"]
    assert len(list((client.settings.data_dir / "tasks").iterdir())) == 2


def test_a_csv_with_columns_of_its_own_and_a_row_a_turn(client) -> None:
    table = "Call;Turn;Words;Team\na;2;A zeppelin.;1\nb;1;A kettle.;2\na;1;Hello.;1\n".encode("utf-16")
    columns = "?id_column=Call&text_column=Words&part_column=Turn&metadata_columns=Team"
    task = ended(client, queued(send(client, table, "text/csv", path=f"{IMPORT}{columns}")))
    assert task.counts == {"indexed": 2, "unchanged": 0, "failed": 0}
    read = client.get("/collections/sample/documents/a").json()
    assert [(read["text"][part["start"] : part["end"]], part["metadata"]) for part in read["parts"]] == [
        ("Hello.", {"Turn": 1}),
        ("A zeppelin.", {"Turn": 2}),
    ]
    assert read["metadata"] == {"Team": 1}
    refused = send(client, table, "text/csv", path=f"{IMPORT}?column=x")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")


def test_a_csv_without_the_columns_fails_as_a_whole(client) -> None:
    task = ended(client, queued(send(client, b"a,b\n1,2\n", "text/csv")))
    assert task.status == "failed"
    assert task.error is not None
    assert task.error.code == "source_unreadable"
    assert task.error.detail == "The table cannot be read: it has no column id; its columns are a, b"
    assert "id_column" in task.error.hint


def test_a_csv_without_ids_is_numbered(client) -> None:
    task = ended(client, queued(send(client, b"text\nHello.\n", "text/csv", path=f"{IMPORT}?row_ids=notes.csv")))
    assert task.counts == {"indexed": 1, "unchanged": 0, "failed": 0}
    assert client.get("/collections/sample/documents/notes.csv:1").json()["text"] == "Hello."


@pytest.mark.parametrize(("quote", "text"), [("none", '"Hello."'), ("%27", "Hi, you"), ("none", "it's")])
def test_a_csv_has_the_quotes_that_are_named(client, quote: str, text: str) -> None:
    cell = f"'{text}'" if quote == "%27" else text
    table = f"id,text\nq,{cell}\n".encode()
    ended(client, queued(send(client, table, "text/csv", path=f"{IMPORT}?quote={quote}")))
    assert client.get("/collections/sample/documents/q").json()["text"] == text
    refused = send(client, table, "text/csv", path=f"{IMPORT}?quote=nothing")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_input")


def test_a_connection_that_is_cut_leaves_nothing(client) -> None:
    async def cut() -> AsyncIterator[bytes]:
        yield lines(calls(50))
        raise httpx.WriteError("cut")

    with suppress(httpx.WriteError):
        send(client, cut())
    assert client.get("/tasks").json()["tasks"] == []
    assert not list((client.settings.data_dir / "tasks").glob("*/body*"))
    assert client.get("/collections/sample").json()["documents"] == 43


def test_the_backlog_is_bounded(settings, start, problem) -> None:
    client = start(settings.model_copy(update={"task_backlog_bytes": 20_000}))
    id = queued(send(client, lines(calls(2))))
    ended(client, id)
    body = lines(calls(250))
    assert 8_000 < len(body) < 20_000
    with lease(client.app.state.backend.store.catalog, "sample"):  # so that the first one waits
        first = queued(send(client, body))
        response = send(client, body)
        assert problem(response, 429, "task_backlog_full")
        assert response.headers["retry-after"] == "10"

        async def unannounced() -> AsyncIterator[bytes]:
            yield body

        problem(send(client, unannounced()), 429, "task_backlog_full")
        problem(send(client, body * 3), 413, "body_too_large")
        while 'spanseek_tasks{status="running"} 1.0' not in (text := client.get("/metrics").text):
            pass
        assert f'spanseek_task_bytes{{status="running"}} {float(len(body))}' in text
    assert ended(client, first).counts["indexed"] == 248
    queued(send(client, body))


def test_a_waiting_task_is_cancelled_at_once_and_a_running_one_soon(client, problem) -> None:
    with lease(client.app.state.backend.store.catalog, "sample"):
        running, waiting = queued(send(client, lines(calls(5)))), queued(send(client, lines(calls(5))))
        assert client.get(f"/tasks/{waiting}").json()["status"] == "queued"
        cancelled = client.post(f"/tasks/{waiting}/cancel", {}).json()
        assert cancelled["status"] == "cancelled"
        client.post(f"/tasks/{running}/cancel", {})
        assert ended(client, running).status == "cancelled"
    assert client.post(f"/tasks/{running}/cancel", {}).json()["status"] == "cancelled"
    assert client.get("/collections/sample").json()["documents"] == 43
    problem(client.get("/tasks/nobody"), 404, "task_not_found")
    problem(client.post("/tasks/nobody/cancel", {}), 404, "task_not_found")


def test_tasks_are_listed_by_collection_kind_and_status(client) -> None:
    ids = [queued(send(client, lines(calls(1, n)))) for n in range(5)]
    ids.append(queued(client.post("/tasks", {"kind": "optimize", "collection": "sample"})))
    for id in ids:
        assert ended(client, id).status == "done"
    listed, cursor = [], ""
    while cursor is not None:
        page = read_answer(TaskPage, client.get(f"/tasks?limit=4{cursor and '&cursor=' + cursor}"))
        listed, cursor = listed + [task.id for task in page.tasks], page.cursor
    assert listed == ids[::-1]
    optimized = client.get("/tasks?kind=optimize&status=done&collection=sample").json()["tasks"]
    assert [each["id"] for each in optimized] == ids[-1:]
    assert optimized[0]["result"]["segments_left"] == 1
    assert client.get("/tasks?collection=other").json()["tasks"] == []


def test_reindexing_purging_and_backfilling_are_tasks(client) -> None:
    def run(**body: object) -> TaskDescription:
        task = ended(client, queued(client.post("/tasks", {"collection": "sample"} | body)))
        assert task.status == "done", task.error
        return task

    client.post("/collections/sample/phrases", {"text": "cancel my subscription", "threshold": 0.9, "backfill": False})
    assert run(kind="backfill", phrases=["cancel my subscription"]).counts == {"added": 2, "withdrawn": 0}
    reindexed = run(kind="reindex", span_units={"shortest": 1, "longest": 6})
    assert (reindexed.progress.done, reindexed.progress.total) == (43, 43)
    assert client.get("/collections/sample").json()["span_units"]["longest"] == 6
    client.post("/collections/sample/documents/delete", {"filter": {"document": {"kind": "call"}}})
    assert run(kind="purge").result is not None
    assert client.get("/collections/sample").json()["documents"] == 41


def test_a_task_that_would_fail_is_refused(client, problem) -> None:
    client.post("/collections/sample/phrases", {"text": "cancel", "threshold": 0.9, "backfill": False})
    backfill = {"kind": "backfill", "collection": "sample", "phrases": ["cancel", "x"]}
    problem(client.post("/tasks", backfill), 404, "phrase_not_found")
    reindex = {"kind": "reindex", "collection": "sample", "span_units": {"shortest": 5, "longest": 2}}
    problem(client.post("/tasks", reindex), 422, "invalid_input")
    for body, field in (
        ({"kind": "backfill", "collection": "sample", "phrases": "cancel"}, "phrases"),
        ({"kind": "nope", "collection": "sample"}, "kind"),
    ):
        assert problem(client.post("/tasks", body), 422, "invalid_input")["errors"][0]["field"] == field
    assert client.get("/tasks").json()["tasks"] == []


def test_a_calibration_is_a_task(client) -> None:
    labels = [{"phrase": f"phrase {n}", "text": f"phrase {n}" if n % 2 else "other words", "match": bool(n % 2)}
              for n in range(30)]  # fmt: skip
    task = ended(
        client, queued(client.post("/tasks", {"kind": "calibration", "collection": "sample", "labels": labels}))
    )
    assert task.status == "done", task.error
    assert task.result is not None
    listed = client.get("/admin/collections/sample/calibrations").json()["calibrations"]
    assert task.result["calibration"]["id"] in {each["id"] for each in listed}


def test_a_large_body_is_indexed_as_a_task_and_answered_as_ever(client) -> None:
    documents = [{"id": f"big-{n}", "text": f"Zeppelin {n} " * 40} for n in range(800)] + [{"id": "bad", "text": 7}]
    body = lines(documents)
    assert len(body) > 2**18
    response = send(client, body, path="/collections/sample/documents")
    assert response.status_code == 200, response.text
    assert [each["status"] for each in response.json()["results"]] == ["indexed"] * 800 + ["failed"]
    assert len(client.get("/tasks").json()["tasks"]) == 1


def test_a_large_body_that_takes_too_long_is_answered_with_its_task(settings, start) -> None:
    client = start(settings.model_copy(update={"write_deadline_s": 0.2}))
    body = lines({"id": f"big-{n}", "text": f"Zeppelin {n} " * 40} for n in range(800))
    with lease(client.app.state.backend.store.catalog, "sample"):
        id = queued(send(client, body, path="/collections/sample/documents"))
    while client.get(f"/tasks/{id}?wait=10").json()["status"] != "done":
        pass
    assert client.get("/collections/sample").json()["documents"] == 843


def test_keys_see_the_tasks_of_their_collections(client, make_key, problem) -> None:
    id = queued(send(client, lines(calls(1))))
    tokens = {name: make_key(scope, collections=collections) for name, scope, collections in
              (("one", "index", ["sample"]), ("other", "index", ["other"]), ("reader", "search", None))}  # fmt: skip
    client.headers = {"Authorization": f"Bearer {tokens['one']}"}
    assert client.get(f"/tasks/{id}").json()["id"] == id
    problem(client.post("/tasks", {"kind": "optimize", "collection": "sample"}), 403, "forbidden")
    client.headers = {"Authorization": f"Bearer {tokens['other']}"}
    problem(client.get(f"/tasks/{id}"), 404, "task_not_found")
    assert client.get("/tasks").json()["tasks"] == client.get("/tasks?collection=sample").json()["tasks"] == []
    client.headers = {"Authorization": f"Bearer {tokens['reader']}"}
    problem(client.get("/tasks"), 403, "forbidden")
    problem(send(client, lines(calls(1))), 403, "forbidden")


def test_a_stopped_server_leaves_its_tasks_to_the_next(settings, start) -> None:
    with Client(settings) as first:
        catalog = first.app.state.backend.store.catalog
        with lease(catalog, "sample"):
            ids = [queued(send(first, lines(calls(20, 20 * n)))) for n in range(3)]
            first.run(asyncio.to_thread(first.app.state.backend._opened.workers.close))
    client = start(settings)
    assert [ended(client, id).counts["indexed"] for id in ids] == [20, 20, 20]


def test_small_writes_beside_an_upload_are_answered_as_ever(client, monkeypatch) -> None:
    """They wait for a batch of it, and are not refused. The upload begins when the first of them has arrived."""
    real, arrived = DocumentService.upsert, Event()

    def upsert(service: DocumentService, collection: str, records: Any, *rest: Any, **options: Any) -> Any:
        records = list(records)
        if len(records) == 1:
            arrived.set()
        assert arrived.wait(PATIENCE_S)
        return real(service, collection, records, *rest, **options)

    monkeypatch.setattr(DocumentService, "upsert", upsert)
    id = queued(send(client, lines(calls(3000))))
    answers = 0
    while client.get(f"/tasks/{id}").json()["status"] in ("queued", "running"):
        document = {"id": f"small-{answers}", "text": "A small one."}
        response = client.post("/collections/sample/documents", document)
        assert response.status_code == 200, response.text
        answers += 1
    assert ended(client, id).counts["indexed"] == 3000
    assert client.get("/collections/sample").json()["documents"] == 43 + 3000 + answers
    assert answers


def test_an_upload_of_a_collection_that_was_deleted_touches_no_other_of_its_name(client) -> None:
    path = "/collections/brief"
    client.run(client.http.put(path, json={}))
    with lease(client.app.state.backend.store.catalog, "sample"):  # so that the second task of the worker waits
        blocking = [queued(send(client, lines(calls(1)))), queued(send(client, lines(calls(1))))]
        client.app.state.backend._opened.workers.close()
        id = queued(send(client, lines(calls(3)), path=f"{path}/documents/import"))
    assert client.run(client.http.delete(path)).status_code == 200
    assert client.run(client.http.put(path, json={})).status_code == 201
    with Client(client.settings) as next_server:
        task = ended(next_server, id)
        assert all(ended(next_server, each).status == "done" for each in blocking)
        assert next_server.get(path).json()["documents"] == 0
    assert (task.status, task.error and task.error.code) == ("failed", "collection_not_found")


def test_a_slow_body_is_received_though_the_deadline_is_short(settings, start, monkeypatch) -> None:
    """It takes longer than both deadlines, which count from its last piece: the clock of the loop jumps meanwhile."""
    client = start(settings.model_copy(update={"deadline_s": 60.0, "write_deadline_s": 60.0, "grace_s": 0.0}))

    async def slow() -> AsyncIterator[bytes]:
        for call in calls(6):
            yield lines([call])
            advance_loop(monkeypatch, 50)
            await asyncio.sleep(0)

    id = queued(send(client, slow()))
    while client.get(f"/tasks/{id}").json()["status"] != "done":
        pass


def test_a_cancelled_reindexing_leaves_the_collection_as_it_was(client) -> None:
    before = client.get("/collections").json()
    with lease(client.app.state.backend.store.catalog, "sample"):  # so that it cannot be completed
        body = {"kind": "reindex", "collection": "sample", "span_units": {"shortest": 1, "longest": 4}}
        id = queued(client.post("/tasks", body))
        while client.get(f"/tasks/{id}").json()["progress"]["done"] < 43:
            pass
        assert len(client.get("/collections").json()["collections"]) == 2
        client.post(f"/tasks/{id}/cancel", {})
        assert ended(client, id).status == "cancelled"
    assert client.get("/collections").json() == before


def test_a_full_disk_makes_a_task_wait_and_not_fail(client, monkeypatch) -> None:
    monkeypatch.setattr(claims, "backoff", lambda failures: 0.0)
    real, tries = DocumentService.upsert, []

    def upsert(*arguments: Any, **options: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise StorageFull("There is no room.", hint="Free some space.")
        return real(*arguments, **options)

    monkeypatch.setattr(DocumentService, "upsert", upsert)
    id = queued(send(client, lines(calls(3))))
    codes = set()
    while (task := client.get(f"/tasks/{id}").json())["status"] != "done":
        codes.add(task.get("error", {}).get("code"))
    assert codes <= {None, "storage_full"}
    assert (task["starts"], task["counts"]["indexed"], task.get("error")) == (3, 3, None)
