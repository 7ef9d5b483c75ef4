"""Whatever is sent, the answer says what is wrong with it, and where."""

import json
from contextlib import closing

import pytest

from indexer.catalog.collections import Catalog
from indexer.types import Recipe

NAN, INF = float("nan"), float("inf")

BAD_FIELDS = [
    ({}, "text"),
    ({"text": "a", "vector": [1.0] * 64}, "text"),
    ({"text": ""}, "text"),
    ({"text": " \t\n\u3000"}, "text"),
    ({"text": "a" * 100_001}, "text"),
    ({"text": "word " * 65}, "text"),
    ({"text": "a\0b"}, "text"),
    ({"text": "a\ud800b"}, "text"),
    ({"text": 5}, "text"),
    ({"text": ["a"]}, "text"),
    ({"vector": []}, "vector"),
    ({"vector": [1.0] * 63}, "vector"),
    ({"vector": [0.0] * 64}, "vector"),
    ({"vector": [1.0] * 9000}, "vector"),
    ({"vector": [1.0, NAN] * 32}, "vector[1]"),
    ({"vector": [INF] + [1.0] * 63}, "vector[0]"),
    ({"vector": ["1"] * 64}, "vector[0]"),
    ({"vector": [True] * 64}, "vector[0]"),
    ({"text": "a", "top_k": 0}, "top_k"),
    ({"text": "a", "top_k": 1001}, "top_k"),
    ({"text": "a", "offset": -1}, "offset"),
    ({"text": "a", "offset": 10_001}, "offset"),
    ({"text": "a", "total": 1}, "total"),
    ({"text": "a", "top_k": 1.5}, "top_k"),
    ({"text": "a", "top_k": "10"}, "top_k"),
    ({"text": "a", "top_k": True}, "top_k"),
    ({"text": "a", "threshold": -0.1}, "threshold"),
    ({"text": "a", "threshold": 1.1}, "threshold"),
    ({"text": "a", "threshold": NAN}, "threshold"),
    ({"text": "a", "threshold": -INF}, "threshold"),
    ({"text": "a", "threshold": "0.5"}, "threshold"),
    ({"text": "a", "threshold_on": "cosine"}, "threshold_on"),
    ({"text": "a", "mode": "best"}, "mode"),
    ({"text": "a", "group_by": "page"}, "group_by"),
    ({"text": "a", "offset_unit": "bytes"}, "offset_unit"),
    ({"text": "a", "context": -1}, "context"),
    ({"text": "a", "context": 1001}, "context"),
    ({"text": "a", "explain": 1}, "explain"),
    ({"text": "a", "filter": []}, "filter"),
    ({"text": "a", "filter": None}, "filter"),
    ({"text": "a", "filter": {"kind": "call"}}, "filter.kind"),
    ({"text": "a", "filter": {"document": {"kind": ["call"]}}}, "filter.document.kind"),
    ({"text": "a", "filter": {"document": {"kind": {}}}}, "filter.document.kind"),
    ({"text": "a", "filter": {"document": {"kind": NAN}}}, "filter.document.kind"),
    ({"text": "a", "filter": {"part": {"kind": "\0"}}}, "filter.part.kind"),
    ({"text": "a", "filter": {"part": {"kind": "\udfff"}}}, "filter.part.kind"),
    ({"text": "a", "filter": {"part": {"\ud800": 1}}}, "filter.part.\ufffd\ufffd\ufffd"),
    ({"text": "a", "filter": {"part": {"a\0": 1}}}, "filter.part.a\0"),
    ({"text": "a", "collection": ""}, "collection"),
    ({"text": "a", "collection": "a\0"}, "collection"),
    ({"text": "a", "collection": "\ud800"}, "collection"),
    ({"text": "a", "collection": "a" * 201}, "collection"),
    ({"text": "a", "collection": None}, "collection"),
    ({"text": "a", "topk": 5}, "topk"),
]


@pytest.mark.smoke
@pytest.mark.parametrize(("body", "field"), BAD_FIELDS)
def test_a_bad_field_is_named(client, problem, body, field) -> None:
    content = json.dumps({"collection": "sample"} | body)
    found = problem(client.post_raw("/search", content), 422, "invalid_input")
    assert [error["field"] for error in found["errors"]].count(field) == 1
    assert all(error["message"] for error in found["errors"])
    json.dumps(found, ensure_ascii=False).encode()


@pytest.mark.parametrize(("body", "field"), BAD_FIELDS)
def test_in_a_batch_the_other_queries_are_answered(client, body, field) -> None:
    good = {"collection": "sample", "text": "a"}
    content = json.dumps({"queries": [good, {"collection": "sample"} | body, good]})
    results = client.post_raw("/search/batch", content).json()["results"]
    assert results[0]["hits"] == results[2]["hits"] != []
    assert (results[1]["error"]["code"], results[1]["error"]["field"]) == ("invalid_input", field)


def test_a_field_whose_name_is_no_text(client, problem) -> None:
    content = '{"collection": "sample", "text": "a", "\\ud800": 1}'
    found = problem(client.post_raw("/search", content), 422, "invalid_input")
    assert found["errors"][0]["field"] == "body"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"text": "a" * 100_001}, "at most 100,000 character(s)"),
        ({"collection": "a" * 201}, "at most 200 character(s)"),
        ({"counts": ["a"] * 21}, "at most 20 item(s)"),
        ({"filter": "year > 1"}, 'a JSON object, such as {"expression": '),
        ({"filter": {"document": "call"}}, "It must be a JSON object."),
        ({"spans": {"min_units": 5, "max_units": 2}}, "at most max_units"),
        ({"spans": {"max_units": 9}}, "have 1 to 8 units"),
    ],
)
def test_the_message_names_the_cause(client, body, words) -> None:
    (error,) = client.refused(422, "invalid_input", **({"text": "a"} | body))["errors"]
    assert words in error["message"]


def test_all_bad_fields_are_named_at_once(client, problem) -> None:
    found = client.refused(422, "invalid_input", text="", top_k=0, colour="red")
    assert {error["field"] for error in found["errors"]} == {"text", "top_k", "colour"}


@pytest.mark.parametrize(("mode", "code"), [("maxsim", "mode_unavailable"), ("worst_span", "invalid_input")])
def test_modes_that_the_collection_or_nobody_has(client, mode, code) -> None:
    body = client.refused(422, code, text="a", mode=mode)
    assert body["errors"][0]["field"] == "mode"


def test_the_filter_may_hold_any_scalar(client) -> None:
    for value in ("x", 1, -2.5, True, None, 10**30, "é😀"):
        client.search(text="a", filter={"document": {"k": value}, "part": {"k": value}})


@pytest.mark.parametrize("queries", [[], None, {}, "a", [1]])
def test_a_batch_needs_queries(client, problem, queries) -> None:
    found = problem(client.post("/search/batch", {"queries": queries}), 422, "invalid_input")
    assert found["errors"][0]["field"].startswith("queries")


def test_a_batch_has_a_limit(settings, start, problem) -> None:
    small = start(settings.model_copy(update={"batch_limit": 2}))
    queries = [{"collection": "sample", "text": "a"}] * 3
    assert small.post("/search/batch", {"queries": queries[:2]}).status_code == 200
    found = problem(small.post("/search/batch", {"queries": queries}), 422, "invalid_input")
    assert found["errors"][0]["field"] == "queries"


@pytest.mark.parametrize(
    "content", [b"{", b'{"text": }', b"\xff\xfe\x00", b"[" * 100_000, b'{"top_k": ' + b"9" * 5000 + b"}"]
)
def test_what_is_not_json(client, problem, content) -> None:
    problem(client.post_raw("/search", content), 400, "bad_json")


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"1", b'"text"'])
def test_what_is_no_object(client, problem, content) -> None:
    found = problem(client.post_raw("/search", content), 422, "invalid_input")
    assert found["errors"][0]["field"] == "body"


def test_what_is_not_sent_as_json(client, problem) -> None:
    content = json.dumps({"collection": "sample", "text": "a"})
    for content_type in ("text/plain", "application/x-ndjson", "", "json"):
        found = problem(client.post_raw("/search", content, content_type), 415, "unsupported_media_type")
        assert "Content-Type: application/json" in found["hint"]
        assert found["errors"][0]["field"] == "Content-Type"
    for content_type in ("application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"):
        assert client.post_raw("/search", content, content_type).status_code == 200


def test_a_chunked_body_of_another_type(client, problem) -> None:
    async def chunks():
        yield b"text"

    problem(client.post_raw("/search", chunks(), "text/plain"), 415, "unsupported_media_type")


def test_an_unknown_collection(client, problem) -> None:
    found = client.refused(404, "collection_not_found", text="a", collection="sampel")
    assert "sample" in found["hint"]
    problem(client.get("/collections/sampel"), 404, "collection_not_found")
    queries = [{"collection": "sample", "text": "a"}, {"collection": "x", "text": "a"}]
    good, bad = client.post("/search/batch", {"queries": queries}).json()["results"]
    assert good["hits"]
    assert (bad["error"]["code"], bad["error"]["field"]) == ("collection_not_found", "collection")
    assert "sample" in bad["error"]["hint"]


@pytest.mark.parametrize("path", ["/collections/a%00", "/collections/" + "a" * 201])
def test_a_bad_collection_in_the_path(client, problem, path) -> None:
    found = problem(client.get(path), 422, "invalid_input")
    assert found["errors"][0]["field"] == "collection"


def test_a_collection_of_another_encoder(settings, start) -> None:
    with closing(Catalog(settings.catalog_url)) as catalog:
        catalog.create_collection("old", Recipe("hashing", "hashing.v0", 64))
        catalog.create_collection("alien", Recipe("no-such-encoder", "x", 64))
    client = start(settings)
    assert client.refused(409, "recipe_mismatch", collection="old", text="a")["errors"][0]["field"] == "collection"
    client.refused(503, "unknown_encoder", collection="alien", text="a")
    queries = [{"collection": name, "text": "a"} for name in ("sample", "alien", "old")]
    good, *bad = client.post("/search/batch", {"queries": queries}).json()["results"]
    assert good["hits"]
    assert [each["error"]["code"] for each in bad] == ["unknown_encoder", "recipe_mismatch"]
    assert client.search(collection="old", vector=[1.0] * 64)["hits"] == []


def test_unknown_routes_and_wrong_methods(client, problem) -> None:
    problem(client.get("/nothing/here"), 404, "route_not_found")
    response = client.get("/search")
    problem(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE"])
@pytest.mark.parametrize("path", ["/collections/", "/collections/sample/", "/tasks/", "/search/"])
def test_a_path_with_a_slash_at_its_end_leads_nowhere(client, problem, method: str, path: str) -> None:
    problem(client.run(client.http.request(method, path)), 404, "route_not_found")


def test_unknown_fields_say_where_others_stand(client) -> None:
    def errors(**body):
        found = client.refused(422, "invalid_input", text="cancel", **body)
        return {error["field"]: error["message"] for error in found["errors"]}

    assert errors(topk=3) == {"topk": "There is no such field; /docs names those there are."}
    assert "stands under `document`" in errors(filter={"queue": "billing"})["filter.queue"]
    assert "no such field" in errors(spans={"longest": 3})["spans.longest"]
