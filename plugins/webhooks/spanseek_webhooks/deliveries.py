"""The next delivery of a webhook: its body, its id, and the webhook's place afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from app.answers import to_json
from app.phrases.answers import Event
from app.phrases.service import cursor_text
from indexer.catalog.collections import Catalog
from indexer.catalog.matches import read_events
from indexer.errors import CursorExpired
from indexer.phrases import EventCursor, EventFilter, EventRead
from indexer.types import Collection
from spanseek_webhooks.answers import EndedTask, MatchDelivery, TaskDelivery
from spanseek_webhooks.claims import Sent
from spanseek_webhooks.letters import Letter, next_letter
from spanseek_webhooks.rows import Webhook

# The most events of one delivery.
MAX_EVENTS: Final = 100
# Those of a letter may have become more: phrases were tagged since.
_MAX_OF_LETTER: Final = 1000


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery. Without a body there is nothing to send: the webhook only moves past the events of others.

    ``id`` is the same whenever the same is sent again.
    """

    sent: Sent
    id: str = ""
    body: bytes | None = None


def next_delivery(catalog: Catalog, webhook: Webhook) -> Delivery:
    """The delivery whose turn it is. Raises ``CollectionNotFound``."""
    collection = catalog.by_id(webhook.collection_id)
    letter = next_letter(catalog, webhook.id)
    if letter is None or (webhook.matches and letter.behind > webhook.cursor.number):
        return _of_events(catalog, webhook, collection)
    if letter.kind == "task":
        return _of_task(webhook, collection, letter)
    return _of_range(catalog, webhook, collection, letter)


def _of_events(catalog: Catalog, webhook: Webhook, collection: Collection) -> Delivery:
    restart = False
    try:
        read = read_events(catalog, collection.id, webhook.cursor, MAX_EVENTS, webhook.filter)
    except CursorExpired:
        read, restart = read_events(catalog, collection.id, None, MAX_EVENTS, webhook.filter), True
    sent = Sent(through=read.cursor, restart=restart)
    return _of_read(webhook, collection, read, sent) if read.events or restart else Delivery(sent)


def _of_range(catalog: Catalog, webhook: Webhook, collection: Collection, letter: Letter) -> Delivery:
    """The events of a dead letter, as they are now: those of matches that are deleted are left out."""
    content = letter.content
    after = EventCursor(content["after"], content["forgotten"])
    filter, restart = EventFilter(tuple(content["phrases"]), tuple(content["tags"])), bool(content["restart"])
    try:
        read = read_events(catalog, collection.id, after, _MAX_OF_LETTER, filter)
    except CursorExpired:
        # What follows the range is sent again, too: all that stands, from the beginning.
        read, restart = read_events(catalog, collection.id, None, MAX_EVENTS, webhook.filter), True
        return _of_read(webhook, collection, read, Sent(letter, read.cursor, restart=True))
    events = tuple(event for event in read.events if event.number <= content["through"])
    read = EventRead(events, EventCursor(content["through"], read.cursor.forgotten), more=False)
    return _of_read(webhook, collection, read, Sent(letter, restart=restart)) if events else Delivery(Sent(letter))


def _of_read(webhook: Webhook, collection: Collection, read: EventRead, sent: Sent) -> Delivery:
    events = tuple(Event.of(event, collection) for event in read.events)
    cursor = cursor_text(read.cursor, collection.id)
    restart: Literal[True] | None = True if sent.restart else None
    body = MatchDelivery("matches", webhook.id, collection.name, events, cursor, restart)
    numbers = [event.number for event in read.events] or [0]
    return Delivery(sent, f"{webhook.id}-{numbers[0]}-{numbers[-1]}", to_json(body))


def _of_task(webhook: Webhook, collection: Collection, letter: Letter) -> Delivery:
    body = TaskDelivery("task", webhook.id, collection.name, _ended(letter.content))
    return Delivery(Sent(letter), f"{webhook.id}-task-{body.task.id}", to_json(body))


def _ended(content: Mapping[str, Any]) -> EndedTask:
    finished_at = datetime.fromisoformat(content["finished_at"])
    return EndedTask(**{**content, "finished_at": finished_at}, link=f"/tasks/{content['id']}")
