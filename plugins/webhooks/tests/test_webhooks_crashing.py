"""A process that is killed at any failpoint while it sends."""

from pathlib import Path
from typing import Any, Final

import pytest

from app.services import Services
from spanseek_webhooks.rows import WebhookDraft
from spanseek_webhooks.service import WebhookService
from spanseek_webhooks.worker import WebhookWorkers
from tests.faults.crashing import KillAt, Victim
from tests.faults.operations import Operation
from tests.faults.places import ROUNDS, Place
from tests.receivers import Receiver, receiving


def _nothing(services: Services) -> None:
    """Prepare nothing."""


def _deliver(services: Services) -> None:
    """Send all that webhooks have to send, in this thread."""
    workers = WebhookWorkers.of(services, threads=0)
    while workers.turn():
        pass


# Its receiver says what of it was done.
DELIVERY: Final = Operation((_deliver,), before=_nothing)


@pytest.mark.slow("kills servers")
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
        services.get(WebhookService).create("c", WebhookDraft(url, from_beginning=True))


def events(receiver: Receiver) -> list[tuple[str, int]]:
    return [(event["event"], event["match"]) for got in receiver.received for event in got.json.get("events", ())]
