"""Mining over HTTP: a task, its tables, and who may read them."""

import csv
import io
import json

import pytest

from tests.integration.http.conftest import Client

BODY = {
    "collection": "sample",
    "phrases": [{"text": "cancel my subscription"}, {"text": "where is my parcel", "name": "parcel"}],
    "threshold": 0.6,
    "count_by": ["kind"],
}


@pytest.fixture
def client(settings, start) -> Client:
    return start(settings)


def mined(client: Client, **changes: object) -> dict:
    queued = client.post("/mine", BODY | changes)
    assert queued.status_code == 202, queued.text
    task = client.get(f"/tasks/{queued.json()['id']}?wait=60").json()
    assert task["status"] == "done", task
    return task


@pytest.mark.smoke
def test_a_mining_is_a_task_with_tables(client) -> None:
    task = mined(client)
    assert task["kind"] == "mine"
    assert task["progress"] == {"done": 2, "total": 2, "unit": "phrases"}
    assert task["result"]["phrases"] == 2
    response = client.get(f"/mine/{task['id']}/hits")
    assert response.headers["content-type"] == "application/x-ndjson"
    hits = [json.loads(line) for line in response.text.splitlines()]
    assert len(hits) == task["result"]["hits"] == task["counts"]["hits"] > 0
    for name, text in (("cancel my subscription",) * 2, ("parcel", "where is my parcel")):
        exported = client.post("/search/export", {"collection": "sample", "text": text, "threshold": 0.6})
        lines = [json.loads(line) for line in exported.text.splitlines()][:-1]
        assert [hit for hit in hits if hit["phrase"] == name] == [{"phrase": name, **line} for line in lines]


def test_tables_have_the_form_that_was_asked_for(client) -> None:
    task = mined(client, format="csv")
    response = client.get(f"/mine/{task['id']}/counts")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))
    assert sum(int(row["hits"]) for row in rows if not row["key"]) == task["result"]["hits"]
    assert client.get(f"/mine/{task['id']}/copies").status_code == 200


def test_what_cannot_be_mined_is_refused(client, problem) -> None:
    problem(client.post("/mine", BODY | {"collection": "none"}), 404, "collection_not_found")
    for phrases, errors in (
        ([], [{"field": "phrases", "message": "It needs at least 1 item(s)."}]),
        (["a"], [{"field": "phrases[0]", "message": "It must be a JSON object."}]),
        ("a", [{"field": "phrases", "message": "It must be a list."}]),
    ):
        assert problem(client.post("/mine", BODY | {"phrases": phrases}), 422, "invalid_input")["errors"] == errors
    problem(client.post("/mine", BODY | {"format": "pdf"}), 422, "invalid_input")
    problem(client.get("/mine/none/hits"), 404, "task_not_found")
    refused = problem(
        client.post("/mine", BODY | {"phrases": [{"text": "a"}, {"text": "b", "name": "a"}]}), 422, "invalid_input"
    )
    assert refused["errors"][0]["field"] == "phrases[1]"
    problem(client.post("/mine", BODY | {"threshold": None}), 422, "invalid_input")
    problem(client.post("/mine", BODY | {"filter": {"expression": "kidn = 1"}}), 422, "invalid_filter")
    failed = client.post("/mine", BODY | {"phrases": [{"text": "word " * 1500}]}).json()
    ended = client.get(f"/tasks/{failed['id']}?wait=60").json()
    assert (ended["status"], ended["error"]["code"]) == ("failed", "invalid_input")
    problem(client.get(f"/mine/{failed['id']}/hits"), 409, "task_unfinished")


@pytest.mark.parametrize("scopes", [("search",), ("index",)])
def test_a_key_needs_both_scopes(client, make_key, problem, scopes) -> None:
    task = mined(client)
    both, one = make_key("search", "index"), make_key(*scopes)
    client.headers = {"Authorization": f"Bearer {both}"}
    assert client.get(f"/mine/{task['id']}/hits").status_code == 200
    client.headers = {"Authorization": f"Bearer {one}"}
    problem(client.post("/mine", BODY), 403, "forbidden")
    problem(client.get(f"/mine/{task['id']}/hits"), 403, "forbidden")


def test_a_key_of_another_collection_sees_no_mining(client, make_key, problem) -> None:
    task = mined(client)
    client.headers = {"Authorization": f"Bearer {make_key('search', 'index', collections=['other'])}"}
    problem(client.post("/mine", BODY), 404, "collection_not_found")
    problem(client.get(f"/mine/{task['id']}/hits"), 404, "task_not_found")
