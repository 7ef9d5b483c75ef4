"""API keys over HTTP, and what one with a filter may write."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.integration.http.conftest import Client

SEARCH = {"collection": "sample", "text": "cancel"}
DOCUMENTS = "/collections/sample/documents"


@pytest.fixture
def server(start, settings) -> Client:
    return start(settings)


def sent(client: Client, method: str, path: str, body: object = None) -> httpx.Response:
    return client.run(client.http.request(method, path, json=body, headers=client.headers))


def made(client: Client, **body: Any) -> str:
    """The token of a new key, made by whoever the client is."""
    answer = client.post("/admin/keys", {"name": "new", "scopes": ["search"]} | body)
    assert answer.status_code == 201, answer.text
    return answer.json()["token"]


def as_holder(client: Client, token: str) -> Client:
    client.headers = {"Authorization": f"Bearer {token}"}
    return client


@pytest.mark.smoke
def test_keys_are_made_listed_and_revoked(server, problem) -> None:
    admin = made(server, scopes=["admin"])
    as_holder(server, admin)
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="seconds")
    tenant = {"name": "acme", "collections": ["sample"], "filter": 'kind = "call"', "expires_at": later, "rate": 60}
    token = made(server, **tenant)
    first, second = server.get("/admin/keys").json()["keys"]
    assert (first["scopes"], first["filter"], first["collections"]) == (["admin"], None, None)
    assert {name: second[name] for name in ("name", "filter", "rate", "collections")} == {
        name: tenant[name] for name in ("name", "filter", "rate", "collections")
    }
    assert token not in server.get("/admin/keys").text
    assert as_holder(server, token).post("/search", SEARCH).status_code == 200
    for _ in range(2):  # revoking again changes nothing
        assert sent(as_holder(server, admin), "DELETE", f"/admin/keys/{second['id']}").json()["status"] == "revoked"
    problem(as_holder(server, token).post("/search", SEARCH), 401, "unauthenticated")
    problem(sent(as_holder(server, admin), "DELETE", "/admin/keys/0a1b2c3d"), 404, "key_not_found")


@pytest.mark.parametrize(
    "rights",
    [
        {"scopes": ["search", "index"]},
        {"scopes": ["admin"], "collections": ["sample"]},
        {"scopes": ["admin"], "filter": 'kind = "call"'},
    ],
)
def test_only_who_administers_everything_makes_keys(server, rights) -> None:
    admin = made(server, scopes=["admin"])
    as_holder(server, made(as_holder(server, admin), **rights))
    answers = [
        server.get("/admin/keys"),
        server.post("/admin/keys", {"name": "x", "scopes": ["admin"]}),
        sent(server, "DELETE", "/admin/keys/0a1b2c3d"),
    ]
    assert [answer.status_code for answer in answers] == [403] * 3


@pytest.mark.parametrize(
    "body",
    [
        {"filter": "kind ="},
        {"filter": 'part.speaker = "agent"'},
        {"filter": 'not (kind = "call" or part.speaker exists)'},
        {"scopes": []},
        {"scopes": ["everything"]},
        {"expires_at": "2020-01-01T00:00:00Z"},
        {"expires_at": "2099-01-01T00:00:00"},
        {"expires_at": "9999-12-31T23:59:59-14:00"},
        {"expires_at": "0001-01-01T00:00:00+14:00"},
        {"rate": 0},
    ],
)
def test_a_key_that_would_not_do_is_refused(server, body) -> None:
    answer = server.post("/admin/keys", {"name": "x", "scopes": ["search"]} | body)
    assert answer.status_code == 422
    assert server.get("/admin/keys").json()["keys"] == []


@pytest.mark.smoke
def test_a_filter_by_metadata_adds_no_documents_and_keeps_them_in_reach(server, problem) -> None:
    as_holder(server, made(server, scopes=["search", "index"], filter='kind = "call"'))
    problem(server.post(DOCUMENTS, {"id": "call-9", "text": "Hello."}), 403, "key_confined")
    problem(sent(server, "PATCH", f"{DOCUMENTS}/call-1", {"metadata": {"kind": "chat"}}), 403, "key_confined")
    problem(sent(server, "PATCH", f"{DOCUMENTS}/call-1", {"remove": ["kind"]}), 403, "key_confined")
    assert sent(server, "PATCH", f"{DOCUMENTS}/call-1", {"metadata": {"year": 2025}}).json()["metadata"]["year"] == 2025
    deleted = sent(server, "DELETE", DOCUMENTS, {"ids": ["call-2", "contract-1", "none"]}).json()["results"]
    assert [each["status"] for each in deleted] == ["deleted", "not_found", "not_found"]
    empty = server.post(f"{DOCUMENTS}/delete", {"filter": {}})
    problem(empty, 422, "invalid_input")
    assert server.post(f"{DOCUMENTS}/delete", {"filter": {"expression": "year > 0"}}).json()["deleted"] == 1


@pytest.mark.parametrize("kind", [["call", "contract"], ["call"], [], "chat", "contract", None, {"call": 1}])
@pytest.mark.parametrize(
    "filter",
    ['kind = "call"', 'kind in ["call", "chat"]', 'not kind = "contract"', 'kind = "call" or document.id exists'],
)
def test_no_key_puts_a_document_into_the_reach_of_another(server, problem, filter: str, kind: object) -> None:
    tenant, admin = made(server, scopes=["search", "index"], filter=filter), made(server, scopes=["admin"])
    as_holder(server, tenant)
    problem(sent(server, "PATCH", f"{DOCUMENTS}/call-1", {"metadata": {"kind": kind}}), 403, "key_confined")
    unchanged = sent(server, "PATCH", f"{DOCUMENTS}/call-1", {"metadata": {"kind": "call"}})
    assert unchanged.json()["status"] == "unchanged"
    assert as_holder(server, admin).get(f"{DOCUMENTS}/call-1").json()["metadata"]["kind"] == "call"


def test_a_filter_on_a_nested_key_leaves_its_neighbours_free(server, problem) -> None:
    path = f"{DOCUMENTS}/call-1"
    sent(server, "PATCH", path, {"metadata": {"customer": {"id": 7, "name": "a"}}})
    as_holder(server, made(server, scopes=["search", "index"], filter="customer.id = 7"))
    assert sent(server, "PATCH", path, {"metadata": {"customer": {"id": 7, "name": "b"}}}).status_code == 200
    for customer in ({"id": [7, 8]}, [{"id": 7}], 7):
        problem(sent(server, "PATCH", path, {"metadata": {"customer": customer}}), 403, "key_confined")


def test_a_filter_by_ids_adds_documents_of_these_ids_alone(server) -> None:
    as_holder(server, made(server, scopes=["search", "index"], filter='document.id starts with "call-"'))
    body = [{"id": "call-9", "text": "Hello."}, {"id": "contract-1", "text": "Mine now."}, {"id": "new", "text": "Hi."}]
    results = server.post(DOCUMENTS, body).json()["results"]
    assert [each["status"] for each in results] == ["indexed", "failed", "failed"]
    assert {each["error"]["code"] for each in results[1:]} == {"key_confined"}
    assert server.get(f"{DOCUMENTS}/call-9").json()["text"] == "Hello."


def test_a_filter_by_ids_tells_of_withdrawn_matches_too(server) -> None:
    server.post("/collections/sample/phrases", {"name": "cancel", "text": "cancel", "threshold": 0.9, "backfill": True})
    sent(server, "DELETE", DOCUMENTS, {"ids": ["call-1", "contract-1"]})
    admin = made(server, scopes=["admin"])
    told = {}
    for filter in ('document.id starts with "call-"', 'kind = "call"'):
        as_holder(server, made(as_holder(server, admin), filter=filter))
        events = server.get("/collections/sample/matches").json()["events"]
        told[filter] = {(each["event"], each["document_id"]) for each in events}
    by_ids, by_metadata = told.values()
    assert by_ids == {("matched", "call-1"), ("withdrawn", "call-1"), ("matched", "call-2")}
    assert by_metadata == {("matched", "call-2")}


def test_figures_of_collections_are_not_for_a_key_with_a_filter(server) -> None:
    admin = made(server, scopes=["admin"])
    server.app.state.backend.refresh()
    own = made(as_holder(server, admin), filter='kind = "call"')
    shown = [as_holder(server, token).get("/metrics").text for token in (admin, own)]
    assert ['spanseek_collection_documents{collection="sample"}' in text for text in shown] == [True, False]
