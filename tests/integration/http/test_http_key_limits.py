"""Keys expire, are limited, are listed with their last use, and do not show other collections."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from app.http.key_limits import RateLimits
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key, list_keys
from indexer.types import Recipe
from tests.integration.http.conftest import Client


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


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


@pytest.mark.parametrize("scope", ["search", "index", "admin"])
def test_no_route_tells_a_hidden_collection_from_none(settings, start, make_key, scope) -> None:
    """``hidden`` exists and ``absent`` does not. Every route and method answers the same but for the name."""
    with closing(Catalog(settings.catalog_url)) as catalog:
        catalog.create_collection("hidden", Recipe("hashing", "x", 64))
    client = start(settings)
    client.headers = _bearer(make_key(scope, collections=["sample"]))
    paths = client.get("/openapi.json").json()["paths"]
    operations = [(method, path) for path in paths if "{collection}" in path for method in paths[path]]
    assert len(operations) > 20
    for method, path in operations:
        hidden, absent = (_answer(client, method, path, name) for name in ("hidden", "absent"))
        assert hidden == absent, (method, path)
        assert hidden[0] in (403, 415, 422), (method, path)
    for path, body in _BODIES:
        hidden, absent = (_answer(client, "post", path, name, body(name)) for name in ("hidden", "absent"))
        assert hidden == absent, path
        assert hidden[0] >= 400, path


_BODIES = (
    ("/search", lambda name: {"collection": name, "text": "a"}),
    ("/search", lambda name: {"collection": name, "vector": [1.0] * 64}),
    ("/search/batch", lambda name: {"queries": [{"collection": name, "text": "a"}]}),
    ("/tasks", lambda name: {"kind": "optimize", "collection": name}),
    ("/collections/{collection}/documents", lambda name: {"id": "a", "text": "b"}),
)


def _answer(client, method: str, path: str, name: str, body: object = None) -> tuple[int, str]:
    """Status and text of an answer, with the collection's name replaced."""
    for parameter in ("collection", "name", "id", "document_id", "phrase"):
        path = path.replace(f"{{{parameter}}}", name if parameter == "collection" else "a")
    content = {} if method == "get" else {"json": {} if body is None else body}
    answer = client.run(client.http.request(method, path, headers=client.headers, **content))
    return answer.status_code, answer.text.replace(name, "NAME")
