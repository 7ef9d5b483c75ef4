"""Webhooks over HTTP, and a server that sends to a receiver of this machine."""

import base64
import hashlib
import hmac
from typing import Any

import pytest

from app.answers import json_values
from app.http.app import create_app
from models.errors import InvalidInput
from spanseek_webhooks.answers import WebhookDescription
from tests.integration.http.conftest import read_answer
from tests.receivers import Received, Receiver, receiving

ROOT = "/collections/sample/webhooks"
URL = "https://example.org/hook"
PHRASE = {"text": "cancel my subscription", "threshold": 0.9}


@pytest.fixture
def local(settings):
    return settings.model_copy(update={"webhook_networks": "127.0.0.0/8"})


def ask(client: Any, method: str, path: str, body: object = None) -> Any:
    given = {} if body is None else {"json": body}
    return client.run(client.http.request(method, path, headers=client.headers, **given))


def test_networks_that_are_none_stop_the_server_at_once(settings) -> None:
    with pytest.raises(InvalidInput, match="SPANSEEK_WEBHOOK_NETWORKS"):
        create_app(settings.model_copy(update={"webhook_networks": "10.0.0.1/8"}))


def test_webhooks_are_made_listed_changed_and_deleted(start, settings, problem) -> None:
    client = start(settings)
    made = ask(client, "POST", ROOT, {"url": URL, "tags": ["b", "a", "b"], "phrases": ["p"], "note": "crm"})
    described = read_answer(WebhookDescription, made)
    assert json_values(described) == made.json()
    assert described.secret is not None
    assert (described.tags, described.phrases, described.matches, described.tasks) == (("a", "b"), ("p",), True, True)
    path = f"{ROOT}/{described.id}"
    shown = ask(client, "GET", path).json()
    assert shown == {key: value for key, value in made.json().items() if key != "secret"}
    assert ask(client, "GET", ROOT).json() == {"webhooks": [shown]}
    changed = ask(client, "PATCH", path, {"paused": True, "tags": [], "tasks": False}).json()
    assert (changed["paused"], changed["tags"], changed["tasks"], changed["note"]) == (True, [], False, "crm")
    renewed = ask(client, "POST", f"{path}/secret").json()["secret"]
    assert renewed.startswith("whsec_")
    assert renewed != described.secret
    assert ask(client, "GET", f"{path}/dead-letters").json() == {"dead_letters": [], "more": False}
    problem(ask(client, "POST", f"{path}/dead-letters/1/send"), 404, "dead_letter_not_found")
    problem(ask(client, "DELETE", f"{path}/dead-letters/1"), 404, "dead_letter_not_found")
    problem(ask(client, "PATCH", path, {"matches": False}), 422, "invalid_input")
    assert ask(client, "DELETE", path).json() == {"id": described.id, "status": "deleted"}
    for method in ("GET", "DELETE"):
        problem(ask(client, method, path), 404, "webhook_not_found")
    problem(ask(client, "GET", "/collections/none/webhooks"), 404, "collection_not_found")


@pytest.mark.parametrize(
    "body",
    [{}, {"url": "http://example.org"}, {"url": "https://127.0.0.1/"}, {"url": "https://10.1.1.1/"},
     {"url": "x" * 2001},
     {"url": URL, "matches": False, "tasks": False}, {"url": URL, "secret": "mine"}, {"url": URL, "phrases": ["a/b"]}],
)  # fmt: skip
def test_what_no_webhook_can_be_is_refused(start, settings, problem, body) -> None:
    problem(ask(start(settings), "POST", ROOT, body), 422, "invalid_input")


def test_webhooks_need_admin_of_their_collection(start, settings, make_key, problem) -> None:
    client, admin, writer = start(settings), make_key("admin"), make_key("index")
    client.headers = {"Authorization": f"Bearer {admin}"}
    id = ask(client, "POST", ROOT, {"url": URL}).json()["id"]
    client.headers = {"Authorization": f"Bearer {writer}"}
    for method, path, body in (
        ("GET", ROOT, None), ("POST", ROOT, {"url": URL}), ("GET", f"{ROOT}/{id}", None),
        ("PATCH", f"{ROOT}/{id}", {"paused": True}), ("DELETE", f"{ROOT}/{id}", None),
        ("POST", f"{ROOT}/{id}/secret", None), ("GET", f"{ROOT}/{id}/dead-letters", None),
        ("POST", f"{ROOT}/{id}/dead-letters/1/send", None), ("DELETE", f"{ROOT}/{id}/dead-letters/1", None),
    ):  # fmt: skip
        problem(ask(client, method, path, body), 403, "forbidden")


def genuine(received: Received, secret: str) -> bool:
    """As docs/api/webhooks.md verifies a delivery."""
    signed = f"{received.headers['webhook-id']}.{received.headers['webhook-timestamp']}.".encode() + received.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    return hmac.compare_digest(expected, received.headers["webhook-signature"])


def test_a_server_tells_a_receiver_of_matches_and_ended_tasks(start, local) -> None:
    answers = iter([500])
    with receiving(Receiver(lambda received: next(answers, 200))) as receiver:
        client = start(local)
        made = ask(client, "POST", ROOT, {"url": receiver.url}).json()
        ask(client, "POST", "/collections/sample/phrases", PHRASE)
        task = ask(client, "POST", "/tasks", {"kind": "optimize", "collection": "sample"}).json()["id"]
        while len(receiver.received) < 3:
            ask(client, "GET", "/health/live")
    first, *_, matches, ended = receiver.received
    assert all(genuine(each, made["secret"]) for each in receiver.received)
    assert first.headers["webhook-id"] == matches.headers["webhook-id"]
    assert [each["document_id"] for each in matches.json["events"]] == ["call-1", "call-2"]
    assert (ended.json["type"], ended.json["task"]["id"], ended.json["task"]["status"]) == ("task", task, "done")
    events = ask(client, "GET", "/collections/sample/matches").json()
    assert matches.json["events"] == events["events"]
    assert ask(client, "GET", f"/collections/sample/matches?cursor={matches.json['cursor']}").json()["events"] == []


def test_a_receiver_inside_is_not_reached_unless_allowed(start, settings) -> None:
    client = start(settings)
    with receiving() as receiver:
        port = receiver.url.split(":")[2]
        ask(client, "POST", ROOT, {"url": f"https://localhost:{port}"})
        ask(client, "POST", "/collections/sample/phrases", PHRASE)
        while "failing" not in (webhook := ask(client, "GET", ROOT).json()["webhooks"][0]):
            pass
    assert webhook["failing"]["error"]["code"] == "address_refused"
    assert receiver.received == []
