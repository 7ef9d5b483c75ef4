"""A process that is killed at any moment: what was promised is there, once, and the next job leaves no orphans."""

import random
import time
from pathlib import Path
from typing import Any

import pytest

from indexer.catalog.webhooks import WebhookDraft
from tests.faults.crashing import KillAt, Victim
from tests.faults.operations import DELIVERY, OPERATIONS, chosen
from tests.faults.places import ROUNDS, Place
from tests.faults.surviving import assert_kept, assert_recovers, prepared, states
from tests.receivers import Receiver, receiving

# Kills of an operation: in the short form; and at random moments in one round of the long form, which kills at every
# failpoint as well.
_SHORT = 2
_AT_RANDOM = 20


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", chosen("ingestion", "reindex", "upload"))
def test_killed_at_failpoints(name: str, copies: Any, tmp_path: Path) -> None:
    copy = copies(prepared(name))
    expected = states(copy, name)
    with copy() as place:
        moments = Victim(place, name, tmp_path / "notes").end().moments
    assert moments
    numbers = range(1, len(moments) + 1)
    chosen = numbers if ROUNDS else random.Random(name).sample(numbers, min(_SHORT, len(numbers)))
    for number in chosen:
        with copy() as place:
            reached = Victim(place, name, tmp_path / "notes", KillAt(number)).end()
            assert len(reached.moments) == number
            where = f"{name} was killed at its failpoint {number}, {reached.moments[-1]}"
            with place.services() as services:
                assert_kept(services, expected, reached.done, where)
                assert_recovers(services, name, expected, where)


@pytest.mark.slow("kills processes at random")
@pytest.mark.skipif(not ROUNDS, reason="the long form alone")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_at_random(name: str, copies: Any, tmp_path: Path) -> None:
    copy, moments = copies(prepared(name)), random.Random(name)
    expected = states(copy, name)
    started = time.perf_counter()
    with copy() as place:
        Victim(place, name, tmp_path / "notes").end()
    longest = time.perf_counter() - started
    for _ in range(_AT_RANDOM * ROUNDS):
        with copy() as place:
            reached = Victim(place, name, tmp_path / "notes").end(moments.uniform(0, longest))
            where = f"{name} was killed behind {reached.moments[-1:]}"
            with place.services() as services:
                assert_kept(services, expected, reached.done, where)
                assert_recovers(services, name, expected, where)


@pytest.mark.slow("kills processes at random")
@pytest.mark.timeout(7200)
def test_killed_while_a_webhook_sends(copies: Any, tmp_path: Path) -> None:
    """Each event is received at least once, in order, and none is lost."""
    with receiving() as receiver:
        copy = copies(lambda place: webhook(place, receiver.url))
        with copy() as place:
            moments = len(Victim(place, DELIVERY, tmp_path / "notes").end().moments)
        sent = events(receiver)
        assert len(sent) > 3
        for number in range(1, moments + 1, 1 if ROUNDS else max(moments // 3, 1)):
            receiver.received.clear()
            with copy() as place:
                Victim(place, DELIVERY, tmp_path / "notes", KillAt(number)).end()
                Victim(place, DELIVERY, tmp_path / "notes").end()
            assert list(dict.fromkeys(events(receiver))) == sent


def webhook(place: Place, url: str) -> None:
    with place.services() as services:
        services.webhooks.create("c", WebhookDraft(url, from_beginning=True))


def events(receiver: Receiver) -> list[tuple[str, int]]:
    return [(event["event"], event["match"]) for got in receiver.received for event in got.json.get("events", ())]
