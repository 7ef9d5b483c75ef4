"""The OpenAPI document: whole, and true to what is answered."""

import json
import re
from dataclasses import fields
from http import HTTPStatus

import pytest
from pydantic import TypeAdapter

from app.answers import json_values
from app.http.openapi import _EXAMPLES
from app.http.problems import STATUS
from app.http.schemas import BatchBody, Problem
from app.requests import CollectionsRequest, ExportRequest, SearchRequest
from app.search.answers import Hit, SearchAnswer
from app.texts.requests import SpansRequest
from app.texts.span_answers import SpansAnswer


@pytest.fixture
def document(client) -> dict:
    return client.get("/openapi.json").json()


def operations(document):
    return [(path, method, found) for path, item in document["paths"].items() for method, found in item.items()]


def references(node):
    if isinstance(node, dict):
        yield from ([node["$ref"]] if isinstance(node.get("$ref"), str) else [])
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from references(child)


def test_everything_that_is_referred_to_is_there(document) -> None:
    assert re.fullmatch(r"3\.\d+\.\d+", document["openapi"])
    assert {"title", "version", "description"} <= document["info"].keys()
    for reference in references(document):
        prefix, name = reference.rsplit("/", 1)
        assert prefix == "#/components/schemas"
        assert name in document["components"]["schemas"]


def test_operations_have_neat_names_and_words(document) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(ids)) == len(ids)
    assert {"search", "search_batch", "list_collections", "get_collection"} <= set(ids)
    assert all(re.fullmatch("[a-z_]+", name) for name in ids)
    assert all(operation["summary"] and operation["tags"] for _, _, operation in operations(document))


def test_errors_are_documented_as_problems(document) -> None:
    for path, _, operation in operations(document):
        for status, response in operation["responses"].items():
            if status not in ("200", "201", "202"):
                assert list(response["content"]) == ["application/problem+json"], path
                example = response["content"]["application/problem+json"]["example"]
                assert Problem.model_validate(example).status == int(status)
    search = document["paths"]["/search"]["post"]["responses"]
    assert {"200", "400", "401", "403", "404", "409", "413", "422", "429", "503", "504"} <= search.keys()


def test_what_any_request_may_be_answered_is_documented(document) -> None:
    protected = {operation["operationId"] for _, _, operation in operations(document) if "security" in operation}
    assert {"search", "find_spans", "put_documents", "list_collections"} <= protected
    for path, method, operation in operations(document):
        statuses = operation["responses"].keys()
        assert {"408", "431", "500", "503", "504"} <= statuses, (method, path)
        if "requestBody" in operation:
            assert {"400", "413", "415", "422"} <= statuses, (method, path)
        if operation["operationId"] in protected:
            assert {"401", "403"} <= statuses, (method, path)
        if "{" in path:
            assert {"404", "422"} <= statuses or method == "put", (method, path)
        assert all("X-Request-ID" in response["headers"] for response in operation["responses"].values())


def test_every_status_that_an_error_has_can_be_documented() -> None:
    undocumented = {HTTPStatus.METHOD_NOT_ALLOWED}  # of a method that no operation has
    assert {*map(int, STATUS.values())} == {*_EXAMPLES} | {*map(int, undocumented)}


def test_every_tag_is_described(document) -> None:
    used = {tag for _, _, operation in operations(document) for tag in operation["tags"]}
    assert used == {tag["name"] for tag in document["tags"]}


def test_every_field_is_described(document) -> None:
    fields = document["components"]["schemas"]["SearchRequest"]["properties"]
    assert all("description" in field for field in fields.values())


def test_the_examples_are_right(document) -> None:
    schemas = document["components"]["schemas"]
    for model in (SearchRequest, BatchBody, CollectionsRequest, ExportRequest, SearchAnswer, SpansRequest, SpansAnswer):
        for example in schemas[model.__name__]["examples"]:
            TypeAdapter(model).validate_python(example)


def test_answers_are_what_the_document_says(client) -> None:
    answer = client.search(text="cancel my subscription", explain=True, context=5)
    read = TypeAdapter(SearchAnswer).validate_json(json.dumps(answer), strict=True)
    assert json_values(read) == answer
    elsewhere = {"polarity", "highlights", "match", "restored", "confidence", "collection", "cut"}
    elsewhere |= {"probability", "verdict", "differs", "clause", "copies"}
    assert set(answer["hits"][0]) | elsewhere == {field.name for field in fields(Hit)}


def test_the_document_is_made_once(client) -> None:
    assert client.app.openapi() is client.app.openapi()
