"""Filter expressions over HTTP: strings, trees and what is wrong with them, in every route that filters."""

import json
import threading
from urllib.parse import urlencode

import pytest

from app.http.pools import BodyRoute
from indexer.filters.json_form import expression_of

CALLS = 'kind = "call" and year >= 2024'
TREE = {"and": [{"key": "kind", "op": "=", "value": "call"}, {"key": "year", "op": ">=", "value": 2024}]}


@pytest.mark.smoke
@pytest.mark.parametrize("expression", [CALLS, TREE])
def test_searches_counts_and_exports_take_expressions(client, expression) -> None:
    filter = {"expression": expression}
    answer = client.search(text="cancel my subscription", filter=filter, total=True, group_by="document")
    assert {hit["document_id"] for hit in answer["hits"]} == {"call-1"}
    assert answer["total"]["documents"] == answer["filtered"]["documents"] == 1
    assert client.search(text="a", filter=filter | {"document": {"kind": "contract"}})["hits"] == []


def test_routes_of_documents_take_strings_and_json(client) -> None:
    for filter in (CALLS, json.dumps({"expression": TREE}), 'document.id = "call-1"'):
        query = urlencode({"filter": filter})
        listed = client.get(f"/collections/sample/documents?{query}").json()
        assert [each["id"] for each in listed["documents"]] == ["call-1"]
        counted = client.get(f"/collections/sample/metadata?{query}").json()
        assert counted["documents"] == 1


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("kind = ", "character 8"),
        ("kidn = 1", "Did you mean `kind`?"),
        ("year > true", "character 1"),
        ('kind == "call"', "a single `=`"),
        ("kind = call", "double quotes"),
        ("kind = 'call'", "double quotes"),
        ('kind = "call', "no closing quote"),
        ('kind = "call" AND year = 1', "lower case: `and`"),
        ("NOT year = 1", "lower case: `not`"),
        ("year = TRUE", "lower case: `true`"),
        ("year = 1 && year = 2", "Write `and`"),
        ("year not in [1]", "`not year in"),
        ("year is not null", "`not year is null`"),
        ("year between 1 and 2", "`year >= 1 and year <= 2`"),
        ('kind start with "a"', "Did you mean `starts with`?"),
        ('call type = "in"', '`"call type"`'),
        ({"and": [TREE, {"key": "kind"}]}, "and[1]"),
        (7, "the top"),
    ],
)
def test_a_wrong_expression_is_refused_with_its_place(client, expression, words) -> None:
    problem = client.refused(422, "invalid_filter", text="a", filter={"expression": expression})
    assert problem["errors"][0]["field"] == "filter"
    assert words in problem["detail"] + problem["hint"]


def test_in_a_batch_a_wrong_expression_fails_its_own_query(client) -> None:
    good = {"collection": "sample", "text": "cancel", "filter": {"expression": CALLS}}
    bad = good | {"filter": {"expression": "year >"}}
    first, second, third = client.post("/search/batch", {"queries": [good, bad, good]}).json()["results"]
    assert first["hits"] == third["hits"] != []
    assert (second["error"]["code"], second["error"]["field"]) == ("invalid_filter", "filter")
    assert "character 7" in second["error"]["detail"]


def test_the_filters_of_a_batch_share_a_budget(client) -> None:
    filters = [f"year in [{', '.join(map(str, range(first, first + 9_000)))}]" for first in range(20)]
    queries = [{"collection": "sample", "text": "cancel", "filter": {"expression": each}} for each in filters]
    results = client.post("/search/batch", {"queries": queries}).json()["results"]
    errors = [each.get("error", {"code": "none"})["code"] for each in results]
    assert errors == ["none"] * errors.count("none") + ["invalid_input"] * errors.count("invalid_input")
    assert 3 <= errors.count("none") < 10


@pytest.mark.parametrize(
    ("ending", "code"),
    [(']"}}', ""), ('"}}', "invalid_filter"), (']"}, "wrong": 1}', "invalid_input"), (']"}', "bad_json")],
)
def test_long_bodies_are_parsed_off_the_event_loop(client, monkeypatch, ending: str, code: str) -> None:
    threads = []

    def noting(function):
        def noted(*given):
            threads.append(threading.current_thread())
            return function(*given)

        return noted

    monkeypatch.setattr("app.requests.expression_of", noting(expression_of))
    monkeypatch.setattr(BodyRoute, "_parsed", noting(BodyRoute._parsed))
    body = '{"collection": "sample", "text": "a", "filter": {"expression": "year in [' + ", ".join(["2024"] * 3_000)
    response = client.post_raw("/search", body + ending)
    assert response.json().get("code", "") == code
    assert threads
    assert threading.main_thread() not in threads


def test_a_filter_has_a_thousand_keys_on_each_level(client) -> None:
    keys = {f"k{number}": 1 for number in range(1000)}
    answer = client.search(text="a", filter={"document": keys, "part": keys})
    assert answer["filtered"]["unknown_keys"] == [f"{level}.{key}" for level in ("document", "part") for key in keys]
    for level in ("document", "part"):
        (error,) = client.refused(422, "invalid_input", text="a", filter={level: keys | {"more": 1}})["errors"]
        assert error == {"field": f"filter.{level}", "message": "It may have at most 1,000 key(s)."}


def test_a_saved_phrase_shows_its_expression_as_a_string(start, settings) -> None:
    client = start(settings)
    phrase = {"name": "cancel", "text": "cancel my subscription", "threshold": 0.9, "filter": {"expression": TREE}}
    made = client.post("/collections/sample/phrases", phrase | {"backfill": True}).json()
    assert made["filter"] == {"document": {}, "part": {}, "expression": CALLS}
    events = client.get("/collections/sample/matches").json()["events"]
    assert {event["document_id"] for event in events} == {"call-1"}
    path = "/collections/sample/phrases/cancel"
    changed = client.run(client.http.patch(path, json={"filter": {}}, headers=client.headers))
    assert changed.json()["filter"] == client.get(path).json()["filter"] == {"document": {}, "part": {}}


def test_a_phrase_may_ask_for_keys_that_are_still_to_come(start, settings) -> None:
    client = start(settings)
    phrase = {"name": "cancel", "text": "cancel", "threshold": 0.9, "filter": {"expression": "queue = 1"}}
    assert client.post("/collections/sample/phrases", phrase).status_code == 200
    preview = client.post("/admin/collections/sample/thresholds/preview", {"saved": "all"})
    assert preview.json()["phrases"][0]["documents"] == 0


def test_documents_are_deleted_by_an_expression(start, settings) -> None:
    client = start(settings)
    body = {"filter": {"expression": f"not ({CALLS})"}, "dry_run": True}
    deleted = client.post("/collections/sample/documents/delete", body).json()
    listed = client.get("/collections/sample/documents").json()["total"]
    assert deleted["deleted"] == listed - 1
