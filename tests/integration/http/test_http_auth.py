"""Who may ask for what."""

from contextlib import closing

import pytest

from app.http.auth import AnonymousAccess
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import list_keys, revoke_key
from indexer.freshness import FRESH_S
from indexer.types import Recipe

BODY = {"collection": "sample", "text": "cancel", "top_k": 1}
OTHER = {"collection": "other", "vector": [1.0] * 64}


@pytest.fixture
def ask(settings, start, make_key):
    """``ask(token)`` is what every protected route answers: search, batch, list, get."""
    with closing(Catalog(settings.catalog_url)) as catalog:
        catalog.create_collection("other", Recipe("hashing", "x", 64))
    client = start(settings)

    def ask(token: str | None, scheme: str = "Bearer") -> list[int]:
        client.headers = {"Authorization": f"{scheme} {token}"} if token else {}
        answers = [
            client.post("/search", BODY),
            client.post("/search/batch", {"queries": [BODY]}),
            client.get("/collections"),
            client.get("/collections/sample"),
        ]
        return [answer.status_code for answer in answers]

    ask.client = client
    return ask


@pytest.mark.smoke
def test_without_keys_everything_is_open(ask) -> None:
    assert ask(None) == [200] * 4
    assert ask("ssk_00000000_whatever") == [200] * 4


@pytest.mark.smoke
def test_with_keys_one_is_needed(ask, make_key, problem) -> None:
    token = make_key("search")
    assert ask(token) == [200] * 4
    assert ask(None) == ask("nonsense") == ask(token + "x") == ask(token, scheme="Basic") == [401] * 4
    response = ask.client.post("/search", BODY)
    problem(response, 401, "unauthenticated")
    assert response.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.smoke
def test_a_wrong_key_learns_nothing_about_collections(ask, make_key, problem) -> None:
    make_key("search")
    ask(None)
    problem(ask.client.get("/collections/no-such"), 401, "unauthenticated")
    problem(ask.client.post("/search", {"collection": "no-such", "text": "a"}), 401, "unauthenticated")


def test_anonymous_access_ends_soon_after_the_first_key(ask, make_key) -> None:
    now = 0.0
    ask.client.app.state.anonymous_access = AnonymousAccess(clock=lambda: now)
    assert ask(None) == [200] * 4
    token = make_key("search")
    # Who shows a key is looked up at once; who shows none, after the moment for which that was remembered.
    assert ask(token + "x") == [401] * 4
    now = 0.9 * FRESH_S
    assert ask(None) == ask(token) == [200] * 4
    now = FRESH_S
    assert ask(None) == [401] * 4
    assert ask(token) == [200] * 4


def test_scopes(ask, make_key) -> None:
    assert ask(make_key("admin")) == [200] * 4
    assert ask(make_key("index")) == [403] * 4


def test_a_key_opens_its_collections_only(ask, make_key, problem) -> None:
    assert ask(make_key("search", collections=["sample"])) == [200] * 4
    client = ask.client
    assert [found["name"] for found in client.get("/collections").json()["collections"]] == ["sample"]
    for name in ("other", "no-such"):
        found = problem(client.get(f"/collections/{name}"), 404, "collection_not_found")
        assert found["errors"][0]["field"] == "collection"
    problem(client.post("/search", OTHER), 404, "collection_not_found")
    good, bad = client.post("/search/batch", {"queries": [BODY, OTHER]}).json()["results"]
    assert good["hits"]
    assert bad["error"]["code"] == "collection_not_found"


def test_a_revoked_key_opens_nothing_from_the_next_request_on(ask, make_key, settings) -> None:
    token = make_key("search")
    assert ask(token) == [200] * 4
    with closing(Catalog(settings.catalog_url)) as catalog:
        revoke_key(catalog, list_keys(catalog)[0].id)
    assert ask(token) == ask(None) == [401] * 4


def test_health_and_metrics_need_no_key(ask, make_key) -> None:
    make_key("search")
    ask(None)
    for path in ("/health/live", "/health/ready", "/metrics", "/openapi.json"):
        assert ask.client.get(path).status_code == 200


@pytest.mark.parametrize("scope", ["search", "index", "admin"])
def test_hints_name_only_the_collections_of_the_key(ask, make_key, problem, scope) -> None:
    """``other`` and ``sample`` exist; the key is for a collection that does not exist yet."""
    client = ask.client
    client.headers = {"Authorization": f"Bearer {make_key(scope, collections=['later'])}"}
    answers = {
        "search": [
            client.post("/search", {"collection": "later", "text": "a"}),
            client.get("/collections/later"),
        ],
        "index": [client.post("/collections/later/documents", {"id": "a", "text": "b"})],
        "admin": [client.get("/admin/collections/later/thresholds")],
    }
    if scope == "search":
        (only,) = client.post("/search/batch", {"queries": [{"collection": "later", "text": "a"}]}).json()["results"]
        assert only["error"]["hint"] == "This API key is for: later."
    for answer in answers[scope]:
        found = problem(answer, 404, "collection_not_found")
        assert found["hint"] == "This API key is for: later."
        assert "sample" not in answer.text
        assert "other" not in answer.text


def test_hints_name_all_collections_to_those_who_may_see_all(ask, make_key, problem) -> None:
    ask.client.headers = {"Authorization": f"Bearer {make_key('search')}"}
    assert (
        problem(ask.client.get("/collections/later"), 404, "collection_not_found")["hint"] == "There is: other, sample."
    )


def test_the_key_is_checked_before_the_body_is_read(ask, make_key, problem) -> None:
    make_key("search")
    ask(None)  # a server without keys a moment ago would still accept anybody
    pieces = []

    async def body():
        pieces.append(1)
        yield b"{"

    ask.client.app.state.anonymous_access = AnonymousAccess()
    for path in ("/search", "/collections/sample/documents", "/admin/collections/sample/calibrations"):
        problem(ask.client.post_raw(path, body()), 401, "unauthenticated")
        problem(ask.client.post_raw(path, b"no json"), 401, "unauthenticated")
    assert not pieces
