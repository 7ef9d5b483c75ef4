"""Deliveries of webhooks: each event at least once and in order, whatever happens to receivers and to servers."""

import base64
import hashlib
import hmac
import json
import random
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from indexer.catalog.claims import claim_task, finish_task
from indexer.catalog.collections import Catalog
from indexer.catalog.copying import copy_catalog
from indexer.catalog.leases import holding, lease
from indexer.catalog.matches import forget_withdrawn, phrase_version, read_events
from indexer.catalog.phrases import change_phrase, delete_phrases, save_phrases
from indexer.catalog.publish import publish, remove, remove_collection
from indexer.catalog.tasks import NewTask, add_task, cancel_task, new_task_id
from indexer.phrases import EventFilter, Match, Matches, PhraseChanges, PhraseDraft
from indexer.types import DocumentRow, Recipe, SegmentInfo
from models.errors import InvalidInput
from models.types import CharSpan
from spanseek_webhooks.addresses import AddressRules
from spanseek_webhooks.errors import LetterNotFound, WebhookNotFound
from spanseek_webhooks.rows import WebhookChanges, WebhookDraft, list_webhooks
from spanseek_webhooks.sending import DeliveryFailed
from spanseek_webhooks.service import WebhookService
from spanseek_webhooks.signing import KEY_FILE, SigningKey
from spanseek_webhooks.worker import WebhookWorkers
from tests.integration.conftest import ManualClock

URL = "https://example.org/hook"
HOURS = 24
CLAIM_S = 100.0
TAGS = {"a": ("x",), "b": ()}
SAID: Final = (0.75, "match")  # by the second look


class Killed(BaseException):
    """The process ends here."""


class Receiver:
    """What receivers get, in order; ``answer`` may raise, before or after the delivery is noted."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.bodies: list[bytes] = []
        self.before: Callable[[], object] = lambda: None
        self.after: Callable[[], object] = lambda: None

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        self.before()
        self.got.append(json.loads(body))
        self.headers.append(headers)
        self.bodies.append(body)
        self.after()

    def numbers(self) -> list[int]:
        """The matches of ``matched`` events, in the order of their first arrival."""
        events = [each for got in self.got for each in got.get("events", ()) if each["event"] == "matched"]
        return list(dict.fromkeys(each["match"] for each in events))


def fails() -> None:
    raise DeliveryFailed("refused", "It answered 500.")


def dies() -> None:
    raise Killed


class Hooks:
    """A collection with two phrases, its webhooks, a worker without threads, and a receiver."""

    def __init__(self, catalog: Catalog, clock: ManualClock, folder: Path) -> None:
        self.catalog, self.clock, self.receiver = catalog, clock, Receiver()
        self.collection = catalog.create_collection("calls", Recipe("hashing", "f1", 3))
        drafts = [PhraseDraft(name, f"phrase {name}", 0.5, tags=tags) for name, tags in TAGS.items()]
        save_phrases(catalog, "calls", drafts, np.ones((2, 3), np.float32))
        self.key = SigningKey(folder)
        self.service = WebhookService(catalog, self.key, AddressRules())
        self.documents = 0

    def make(self, **options: Any) -> str:
        made = self.service.create("calls", WebhookDraft(URL, **options))
        self.secret = made.secret or ""
        return made.id

    def workers(self) -> WebhookWorkers:
        given_up = timedelta(hours=HOURS)
        return WebhookWorkers(
            self.catalog,
            self.key,
            self.receiver,
            threads=0,
            timeout_s=CLAIM_S - 60,
            given_up=given_up,  # type: ignore[arg-type]
        )

    def turn(self) -> bool:
        return self.workers().turn()

    def drain(self) -> None:
        while self.turn():
            pass

    def arrive(self, *phrases: str) -> str:
        """A document with a match of each phrase; returns its id."""
        self.documents += 1
        id, name = f"d{self.documents}", f"s{self.documents}"
        with self.catalog.database.read() as connection:
            version = phrase_version(connection, self.collection.id)
        found = [Match(phrase, id, CharSpan(0, 3), "abc", 0.9, 0.9, TAGS[phrase], *SAID) for phrase in phrases]
        with lease(self.catalog, "calls") as held:
            info = SegmentInfo(name, f"sha of {name}", 1, 1, 10, 99)
            publish(self.catalog, held, info, [DocumentRow(id, 0, "h")], matched=Matches(version, None, tuple(found)))
        return id

    def leave(self, id: str) -> None:
        with lease(self.catalog, "calls") as held:
            remove(self.catalog, held, [id])

    def end_task(self, status: Any = "done") -> str:
        id = new_task_id()
        add_task(self.catalog, id, NewTask("optimize", "calls", self.collection.id), limit=10**6)
        claim = claim_task(self.catalog)
        assert claim is not None
        finish_task(self.catalog, claim, status)
        return id

    def forget(self) -> None:
        with lease(self.catalog, "calls") as held, holding(self.catalog, held) as (connection, _):
            forget_withdrawn(connection, self.collection.id, self.clock())

    def standing(self) -> set[int]:
        events = read_events(self.catalog, self.collection.id, None, 10**6).events
        return {each.id for each in events if each.kind == "matched"} - {
            each.id for each in events if each.kind == "withdrawn"
        }


@pytest.fixture
def hooks(catalog: Catalog, clock: ManualClock, tmp_path: Path) -> Hooks:
    return Hooks(catalog, clock, tmp_path / "data")


def test_matches_withdrawals_and_ended_tasks_arrive_in_their_order(hooks: Hooks) -> None:
    hooks.arrive("a")
    id = hooks.make()
    assert not hooks.turn()  # what was there before is not sent
    first = hooks.arrive("a", "b")
    task = hooks.end_task()
    hooks.leave(first)
    cancelled = new_task_id()
    add_task(hooks.catalog, cancelled, NewTask("purge", "calls", hooks.collection.id), limit=10**6)
    cancel_task(hooks.catalog, cancelled)
    cancel_task(hooks.catalog, cancelled)  # which changes nothing
    hooks.drain()
    kinds = [
        [each["event"] for each in got["events"]] if "events" in got else got["task"] for got in hooks.receiver.got
    ]
    assert kinds[0][:2] == ["matched", "matched"]
    assert [(each["id"], each["status"], each["link"]) for each in kinds[1:]] == [
        (task, "done", f"/tasks/{task}"),
        (cancelled, "cancelled", f"/tasks/{cancelled}"),
    ]
    events = hooks.receiver.got[0]["events"]
    assert [(each["phrase"], each["document_id"], each["text"]) for each in events[:2]] == [
        ("a", first, None),
        ("b", first, None),
    ]
    assert {(each["probability"], each["verdict"]) for each in events} == {SAID}
    assert {got["webhook"] for got in hooks.receiver.got} == {id}
    described = hooks.service.get("calls", id)
    assert (described.delivered_at, described.failing) == (hooks.clock(), None)


def test_a_delivery_is_signed_over_its_id_its_time_and_its_body(hooks: Hooks) -> None:
    made = hooks.service.create("calls", WebhookDraft(URL))
    assert made.secret is not None
    assert hooks.service.get("calls", made.id).secret is None
    hooks.arrive("a")
    hooks.drain()
    headers, body = hooks.receiver.headers[0], hooks.receiver.bodies[0]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(made.secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert int(headers["webhook-timestamp"]) == int(hooks.clock().timestamp())
    renewed = hooks.service.renew_secret("calls", made.id)
    assert renewed.secret not in (None, made.secret)


def test_the_catalog_has_no_secret_and_another_key_file_is_noticed(hooks: Hooks, tmp_path: Path) -> None:
    id = hooks.make()
    path = tmp_path / "data" / KEY_FILE
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == [KEY_FILE]
    path.write_text("00" * 32)
    hooks.key = SigningKey(path.parent)
    hooks.arrive("a")
    hooks.drain()
    failing = hooks.service.get("calls", id).failing
    assert failing is not None
    assert failing.error.code == "webhook_key_lost"
    assert hooks.receiver.got == []


def test_failures_are_tried_again_ever_later_and_nothing_overtakes_them(hooks: Hooks) -> None:
    id = hooks.make()
    hooks.arrive("a")
    hooks.receiver.before = fails
    pauses = []
    for _ in range(11):
        hooks.drain()
        failing = hooks.service.get("calls", id).failing
        assert failing is not None
        assert failing.error.code == "refused"
        pauses.append((failing.next_try - hooks.clock()).total_seconds())
        hooks.arrive("a")
        assert not hooks.turn()
        hooks.clock.advance(pauses[-1])
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    hooks.receiver.before = lambda: None
    hooks.drain()
    assert hooks.receiver.numbers() == sorted(hooks.standing())
    assert hooks.service.get("calls", id).failing is None


def test_an_error_that_nobody_foresaw_is_a_failure_as_any_other(hooks: Hooks) -> None:
    id = hooks.make()
    hooks.arrive("a")

    def break_down() -> None:
        raise ZeroDivisionError

    hooks.receiver.before = break_down
    hooks.drain()
    failing = hooks.service.get("calls", id).failing
    assert failing is not None
    assert (failing.error.code, failing.tries) == ("internal_error", 1)


def test_what_fails_for_too_long_is_a_dead_letter_which_can_be_sent_again(hooks: Hooks) -> None:
    id = hooks.make()
    gone = hooks.arrive("a")
    hooks.receiver.before = fails
    hooks.drain()
    hooks.clock.advance(HOURS * 3600)
    hooks.drain()
    task = hooks.end_task()
    hooks.drain()
    hooks.clock.advance(HOURS * 3600)
    hooks.drain()
    (events, ended) = hooks.service.dead_letters("calls", id).dead_letters
    assert (events.kind, ended.kind, ended.content["id"]) == ("matches", "task", task)
    assert events.error is not None
    assert (events.error.code, "abc" in str(events)) == ("refused", False)
    assert hooks.service.get("calls", id).dead_letters == 2
    hooks.receiver.before = lambda: None
    later = hooks.arrive("a")
    hooks.drain()
    assert [each["document_id"] for each in hooks.receiver.got[0]["events"]] == [later]
    hooks.service.send_again("calls", id, ended.number)
    hooks.service.send_again("calls", id, events.number)
    hooks.drain()
    assert hooks.receiver.got[1]["events"][0]["document_id"] == gone
    assert hooks.receiver.got[2]["task"]["id"] == task
    assert hooks.service.dead_letters("calls", id).dead_letters == ()
    with pytest.raises(LetterNotFound):
        hooks.service.send_again("calls", id, events.number)
    with pytest.raises(LetterNotFound):
        hooks.service.delete_letter("calls", id, 7)


def test_a_letter_that_was_sent_again_and_failed_again_is_dead_again_and_can_be_deleted(hooks: Hooks) -> None:
    id = hooks.make()
    hooks.end_task()
    hooks.receiver.before = fails
    for again in (False, True):
        if again:
            hooks.service.send_again("calls", id, 1)
        hooks.drain()
        hooks.clock.advance(HOURS * 3600)
        hooks.drain()
        assert [each.number for each in hooks.service.dead_letters("calls", id).dead_letters] == [1]
    hooks.service.delete_letter("calls", id, 1)
    assert hooks.service.get("calls", id).dead_letters == 0


def test_a_server_that_is_killed_while_it_sends_sends_again(hooks: Hooks) -> None:
    hooks.make()
    hooks.arrive("a", "b")
    hooks.receiver.after = dies
    with pytest.raises(Killed):
        hooks.turn()
    hooks.receiver.after = lambda: None
    assert not hooks.turn()  # another server leaves the webhook to the first one, while that may live
    hooks.clock.advance(CLAIM_S)
    hooks.drain()
    first, second = hooks.receiver.got
    assert first["events"] == second["events"]
    assert hooks.receiver.headers[0]["webhook-id"] == hooks.receiver.headers[1]["webhook-id"]


def test_a_worker_whose_claim_was_taken_over_moves_nothing(hooks: Hooks) -> None:
    id = hooks.make()
    hooks.arrive("a")

    def taken_over() -> None:
        hooks.receiver.after = lambda: None
        hooks.clock.advance(CLAIM_S)
        hooks.drain()
        hooks.service.change("calls", id, WebhookChanges(note="changed meanwhile"))

    hooks.receiver.after = taken_over
    assert hooks.turn()
    assert len(hooks.receiver.got) == 2
    assert not hooks.turn()


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (EventFilter(("a",)), ["a", "a"]),
        (EventFilter(tags=("x",)), ["a", "a"]),
        (EventFilter(("b",), ("x",)), []),
        (EventFilter(), ["a", "b", "a"]),
    ],
)
def test_a_webhook_may_be_for_some_phrases_or_tags(hooks: Hooks, filter: EventFilter, expected: list[str]) -> None:
    hooks.make(filter=filter, tasks=False)
    hooks.arrive("a", "b")
    hooks.arrive("a")
    hooks.end_task()
    hooks.drain()
    assert [each["phrase"] for got in hooks.receiver.got for each in got["events"]] == expected
    assert not hooks.turn()


def test_withdrawals_reach_the_tag_that_the_match_had(hooks: Hooks) -> None:
    hooks.make(filter=EventFilter(tags=("x",)))
    hooks.arrive("a", "b")
    hooks.drain()
    delete_phrases(hooks.catalog, "calls", ["a", "b"])
    hooks.drain()
    events = [each for got in hooks.receiver.got for each in got["events"]]
    assert [(each["event"], each["phrase"], each["tags"]) for each in events] == [
        ("matched", "a", ["x"]),
        ("withdrawn", "a", ["x"]),
    ]


def test_new_tags_are_those_of_the_matches_that_stand(hooks: Hooks) -> None:
    hooks.arrive("b")
    change_phrase(hooks.catalog, "calls", "b", PhraseChanges(tags=("y",)))
    hooks.make(filter=EventFilter(tags=("y",)), from_beginning=True)
    hooks.drain()
    assert [each["phrase"] for each in hooks.receiver.got[0]["events"]] == ["b"]


def test_a_webhook_from_the_beginning_sends_what_stands_and_pauses_keep_everything(hooks: Hooks) -> None:
    hooks.leave(hooks.arrive("a"))
    hooks.forget()
    for _ in range(120):
        hooks.arrive("b")
    id = hooks.make(from_beginning=True, paused=True)
    task = hooks.end_task()
    assert not hooks.turn()
    hooks.service.change("calls", id, WebhookChanges(paused=False))
    hooks.drain()
    assert [len(got.get("events", ())) for got in hooks.receiver.got] == [100, 20, 0]
    assert hooks.receiver.got[-1]["task"]["id"] == task
    assert set(hooks.receiver.numbers()) == hooks.standing()


def test_a_receiver_that_missed_deleted_withdrawals_begins_anew(hooks: Hooks) -> None:
    id = hooks.make()
    gone = hooks.arrive("a")
    hooks.drain()
    hooks.service.change("calls", id, WebhookChanges(paused=True))
    hooks.leave(gone)
    hooks.forget()
    hooks.arrive("a")
    hooks.service.change("calls", id, WebhookChanges(paused=False))
    hooks.drain()
    last = hooks.receiver.got[-1]
    assert last["restart"] is True
    assert {each["match"] for each in last["events"]} == hooks.standing()


def test_a_slow_receiver_holds_up_no_other_webhook(hooks: Hooks) -> None:
    slow, other = hooks.make(), hooks.make()
    hooks.arrive("a")
    order = []

    def meanwhile() -> None:
        hooks.receiver.after = lambda: None
        order.append("begun")
        assert hooks.turn()  # another thread's turn while the first one waits for its receiver
        assert not hooks.turn()
        order.append("others are done")

    hooks.receiver.after = meanwhile
    assert hooks.turn()
    assert order == ["begun", "others are done"]
    assert {got["webhook"] for got in hooks.receiver.got} == {slow, other}


def test_snapshots_have_no_webhooks_and_backups_have_them_without_their_secrets(hooks: Hooks, tmp_path: Path) -> None:
    hooks.make()
    hooks.end_task()
    for name, collection_id, expected in (("snapshot", hooks.collection.id, 0), ("backup", None, 1)):
        with closing(Catalog(copy_catalog(hooks.catalog, tmp_path / name, collection_id))) as copy:
            assert len(list_webhooks(copy, "calls")) == expected
        assert hooks.secret.encode() not in (tmp_path / name).read_bytes()


def test_deleted_webhooks_and_collections_send_nothing(hooks: Hooks) -> None:
    hooks.make()
    hooks.end_task()
    hooks.catalog.create_collection("other", Recipe("hashing", "f1", 3))
    kept = hooks.service.create("other", WebhookDraft(URL)).id
    with lease(hooks.catalog, "calls") as held:
        remove_collection(hooks.catalog, held)
    assert not hooks.turn()
    assert [each.id for each in hooks.service.list("other").webhooks] == [kept]


def test_deleted_webhooks_send_nothing(hooks: Hooks) -> None:
    id = hooks.make()
    hooks.arrive("a")
    hooks.end_task()
    hooks.service.delete("calls", id)
    assert not hooks.turn()
    with pytest.raises(WebhookNotFound):
        hooks.service.get("calls", id)
    with pytest.raises(WebhookNotFound):
        hooks.service.get("calls", "\0")
    with pytest.raises(InvalidInput):
        hooks.service.create("calls", WebhookDraft(URL, matches=False, tasks=False))
    with pytest.raises(InvalidInput):
        hooks.service.create("calls", WebhookDraft("http://127.0.0.1/"))


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_each_event_arrives_and_in_order(hooks: Hooks, seed: int) -> None:
    """Receivers fail and servers die at random; in the end a receiver that follows the events knows what stands."""
    chance = random.Random(seed)
    hooks.make()
    live: list[str] = []
    tasks: list[str] = []
    for _ in range(60):
        hooks.receiver.before = chance.choice([fails, dies, lambda: None, lambda: None])
        hooks.receiver.after = chance.choice([fails, dies, lambda: None, lambda: None])
        match chance.randrange(6):
            case 0 | 1:
                live.append(hooks.arrive(*chance.sample("ab", chance.randint(1, 2))))
            case 2 if live:
                hooks.leave(live.pop(chance.randrange(len(live))))
            case 3:
                tasks.append(hooks.end_task(chance.choice(["done", "failed"])))
            case _:
                with suppress(Killed):
                    hooks.turn()
                hooks.clock.advance(chance.choice([0, 1, 30, CLAIM_S]))
    hooks.receiver.before = hooks.receiver.after = lambda: None
    hooks.clock.advance(CLAIM_S + 300)
    hooks.drain()
    numbers = hooks.receiver.numbers()
    assert numbers == sorted(numbers)
    assert set(numbers) >= hooks.standing()
    known: set[int] = set()
    for event in (each for got in hooks.receiver.got for each in got.get("events", ())):
        (known.add if event["event"] == "matched" else known.discard)(event["match"])
    assert known == hooks.standing()
    ended = list(dict.fromkeys(got["task"]["id"] for got in hooks.receiver.got if "task" in got))
    assert ended == tasks
