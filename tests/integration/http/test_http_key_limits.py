"""Keys expire, are limited, are listed with their last use, and do not show other collections."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.http.key_limits import RateLimits
from indexer.catalog.aliases import set_aliases
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key, list_keys
from indexer.catalog.tasks import NewTask, add_task
from indexer.types import Recipe
from tests.integration.http.conftest import Client


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.smoke
def test_a_key_beyond_its_rate_is_answered_429(settings, start, problem) -> None:
    with closing(Catalog(settings.catalog_url)) as catalog:
        limited = create_key(catalog, "limited", ["search"], rate=2)[1]
        free = create_key(catalog, "free", ["search"])[1]
    client = start(settings)
    now = 0.0
    client.app.state.rate_limits = RateLimits(clock=lambda: now)
    client.headers = _bearer(limited)
    assert [client.get("/collections").status_code for _ in range(2)] == [200, 200]
    for answer in (client.get("/collections"), client.post("/search", {})):
        problem(answer, 429, "rate_limited")
        assert answer.headers["retry-after"] == "30"
    client.headers = _bearer(free)
    assert [client.get("/collections").status_code for _ in range(4)] == [200] * 4
    client.headers = _bearer(limited)
    now = 30.0
    assert client.get("/collections").status_code == 200
    problem(client.get("/collections"), 429, "rate_limited")


def test_an_expired_key_is_refused(settings, start, problem) -> None:
    past = datetime.now(UTC) - timedelta(days=2)
    with closing(Catalog(settings.catalog_url, clock=lambda: past)) as catalog:
        token = create_key(catalog, "old", ["search"], expires_at=past + timedelta(days=1))[1]
    client = start(settings)
    client.headers = _bearer(token)
    problem(client.get("/collections"), 401, "unauthenticated")


def test_the_last_use_is_written_when_the_server_stops(settings, make_key) -> None:
    with Client(settings) as client:
        client.headers = _bearer(make_key("search"))
        assert client.get("/collections").status_code == 200
    with closing(Catalog(settings.catalog_url)) as catalog:
        assert [key.last_used_at is not None for key in list_keys(catalog)] == [True]


@pytest.fixture
def limited(settings, start, make_key) -> Client:
    """A client whose key is for ``sample`` and ``later``. ``hidden`` exists; ``absent`` and ``later`` do not."""
    with closing(Catalog(settings.catalog_url)) as catalog:
        hidden = catalog.create_collection("hidden", Recipe("hashing", "x", 64))
        set_aliases(catalog, {"hidden-alias": "hidden"})
        add_task(catalog, "hidden-task", NewTask("optimize", "hidden", hidden.id), limit=2**30)
    client = start(settings)
    client.headers = _bearer(make_key("search", "index", "admin", collections=["sample", "later"]))
    return client


# Where a caller gives a name, or keys: the same 403, whether or not the name is taken.
_GIVES_A_NAME = {("put", "/collections/{collection}"), ("put", "/aliases/{alias}"), ("post", "/admin/keys")}
_OTHER_PARAMETERS = {"id": "a", "name": "a", "document_id": "a", "match": "1", "number": "1"}


def test_no_operation_tells_a_hidden_collection_from_none(limited) -> None:
    """Every operation that takes a collection, with a valid request: same status, code and words but for the name."""
    document = limited.get("/openapi.json").json()
    operations = list(_operations_of_collections(document))
    assert len(operations) > 40
    for method, path in operations:
        hidden, absent = (_answer(limited, document, method, path, name) for name in ("hidden", "absent"))
        assert hidden == absent, (method, path)
        code = "forbidden" if (method, path) in _GIVES_A_NAME else "collection_not_found"
        assert f'"code":"{code}"' in hidden[1], (method, path, hidden)
        # As one that the key may see, and that does not exist; snapshots outlive their collection.
        if code == "collection_not_found" and "/snapshots/{id}" not in path:
            assert hidden == _answer(limited, document, method, path, "later"), (method, path)


def test_aliases_tasks_and_lists_show_nothing_of_a_hidden_collection(limited, problem) -> None:
    hidden, absent = (limited.run(limited.http.delete(f"/aliases/{name}", headers=limited.headers)).json()
                      for name in ("hidden-alias", "absent-alias"))  # fmt: skip
    assert hidden["code"] == "alias_not_found"
    assert hidden | {"detail": "", "errors": []} == absent | {"detail": "", "errors": []}
    for path in ("/tasks/{}", "/tasks/{}/results"):
        answers = [limited.get(path.format(id)).text.replace(id, "ID") for id in ("hidden-task", "absent-task")]
        assert answers[0] == answers[1]
        assert "task_not_found" in answers[0]
    for path in ("/tasks", "/tasks?collection=hidden", "/collections", "/aliases"):
        assert "hidden" not in limited.get(path).text
    assert limited.get("/tasks?collection=hidden").text == limited.get("/tasks?collection=absent").text


def test_deleting_a_collection_does_not_tell_the_names_of_its_aliases(limited, settings, problem) -> None:
    with closing(Catalog(settings.catalog_url)) as catalog:
        set_aliases(catalog, {"secret-alias": "sample"})
    refused = limited.run(limited.http.delete("/collections/sample", headers=limited.headers))
    assert "secret-alias" not in str(problem(refused, 409, "collection_aliased"))


def _operations_of_collections(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Method and path of every operation with a collection in its path, or in the example of its body."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if "{collection}" in path or "collection" in str(_example(document, operation, "NAME")):
                yield method, path


def _example(document: dict[str, Any], operation: dict[str, Any], name: str) -> Any:
    """The body's first example, or None, with this name for its collection."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
        resolved = [_resolved(document, option) for option in options]
        examples = [content[key] for key in ("example",) if key in content]
        examples += [example for each in resolved for example in each.get("examples", ())]
        if examples:
            return _renamed(examples[0], name)
    return None


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][reference] if reference else schema


def _renamed(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        names = {"collection": name, "collections": [name]}
        return {key: names.get(key) or _renamed(each, name) for key, each in value.items()}
    return [_renamed(each, name) for each in value] if isinstance(value, list) else value


def _answer(client: Client, document: dict[str, Any], method: str, path: str, name: str) -> tuple[int, str]:
    """Status and text of an answer, with the collection's name replaced."""
    operation = document["paths"][path][method]
    body = _example(document, operation, name)
    if isinstance(body, str):
        content: dict[str, Any] = {"content": body, "headers": {"Content-Type": "application/x-ndjson"}}
    else:
        content = {"json": body} if body is not None else {}
    content["headers"] = client.headers | content.get("headers", {})
    query = {
        each["name"]: each["schema"].get("examples", ["a"])[0]
        for each in operation.get("parameters", ())
        if each["in"] == "query" and each["required"]
    }
    for parameter, value in (_OTHER_PARAMETERS | {"collection": name, "alias": name}).items():
        path = path.replace(f"{{{parameter}}}", value)
    answer = client.run(client.http.request(method, path, params=query, **content))
    return answer.status_code, answer.text.replace(f"'{name}'", "'NAME'")
