"""Webhooks from the command line."""

from datetime import timedelta
from pathlib import Path

from app.services import open_store
from app.settings import Settings
from spanseek_webhooks.addresses import AddressRules
from spanseek_webhooks.sending import Sender
from spanseek_webhooks.signing import SigningKey
from spanseek_webhooks.worker import WebhookWorkers
from tests.e2e.commands import Outcome, Run

URL = "https://nowhere.example/hook"


def fail_once(data: Path) -> None:
    """Let a server try once, without a resolver, that gives up at once."""
    settings = Settings(_env_file=None, data_dir=data)
    store = open_store(settings)
    try:
        sender = Sender(AddressRules(), timeout_s=1, resolve=lambda host, port: [])
        workers = WebhookWorkers(store.catalog, SigningKey(data), sender, threads=0, timeout_s=1, given_up=timedelta(0))
        assert workers.turn()
    finally:
        store.close()


def test_webhooks_are_made_watched_and_deleted(calls: Outcome, run: Run, data: Path) -> None:
    added = run("webhooks", "add", URL, "-c", "calls", "--tag", "leaving", "--no-tasks", "--note", "crm", "--json").json
    id = added["id"]
    assert (added["tags"], added["tasks"], added["secret"][:6]) == (["leaving"], False, "whsec_")
    shown = run("webhooks", "secret", id, "-c", "calls").out
    assert "Its secret, which is not shown again: whsec_" in shown
    assert added["secret"] not in shown
    listed = run("webhooks", "list", "-c", "calls")
    assert listed.out == f"{id}  {URL}  matches of tag leaving\n"
    assert "whsec_" not in run("webhooks", "list", "-c", "calls", "--json").out
    assert (
        run("webhooks", "change", id, "-c", "calls", "--pause").out == f"{id}  {URL}  matches of tag leaving  paused\n"
    )
    run("webhooks", "change", id, "-c", "calls", "--resume")
    run("phrases", "add", "my parcel", "-c", "calls", "--threshold", "0.9", "--tag", "leaving")
    fail_once(data)
    assert "dead letters: 1" in run("webhooks", "list", "-c", "calls").out
    letters = run("webhooks", "dead-letters", id, "-c", "calls")
    assert "1  matches  " in letters.out
    assert "address_refused: Its host has no address that webhooks may reach." in letters.out
    assert run("webhooks", "send", id, "1", "-c", "calls").out == "The server sends the dead letter 1 again.\n"
    assert run("webhooks", "discard", id, "1", "-c", "calls").code == 1
    fail_once(data)
    assert run("webhooks", "discard", id, "1", "-c", "calls").out == "The dead letter 1 is deleted.\n"
    assert run("webhooks", "dead-letters", id, "-c", "calls").out == "There is no dead letter.\n"
    assert run("webhooks", "change", id, "-c", "calls", "--tag", "", "--json").json["tags"] == []
    assert run("webhooks", "delete", id, "-c", "calls").out == f"The webhook {id} is deleted.\n"
    assert run("webhooks", "list", "-c", "calls").out == "calls has no webhook.\n"


def test_what_no_webhook_can_be_is_refused(calls: Outcome, run: Run) -> None:
    for url in ("http://example.org", "https://127.0.0.1"):
        refused = run("webhooks", "add", url, "-c", "calls")
        assert (refused.code, "A webhook cannot have this URL" in refused.err) == (1, True)
    assert "sends nothing" in run("webhooks", "add", URL, "-c", "calls", "--no-tasks", "--no-matches").err
    assert "no webhook" in run("webhooks", "change", "0" * 16, "-c", "calls", "--pause").err
