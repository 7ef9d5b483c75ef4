"""Webhooks: addresses that are told of the matches and of the ended tasks of a collection.

``deliveries`` has what workers do with them, and ``letters`` what they send besides events.
"""

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.names import checked_note, checked_tags
from indexer.catalog.tables import phrase_sets
from indexer.phrases import ALL_EVENTS, EventCursor, EventFilter
from models.errors import InvalidInput
from models.fields import converted
from spanseek_webhooks.errors import WebhookNotFound
from spanseek_webhooks.tables import webhook_letters, webhooks

MAX_WEBHOOKS: Final = 100
_ID_LENGTH: Final = 16


@dataclass(frozen=True, slots=True)
class WebhookDraft:
    """A webhook to make. ``from_beginning`` also sends the matches that are there."""

    url: str
    matches: bool = True
    tasks: bool = True
    filter: EventFilter = ALL_EVENTS
    note: str = ""
    paused: bool = False
    from_beginning: bool = False


@dataclass(frozen=True, slots=True)
class WebhookChanges:
    """Changes of a webhook; None leaves a field as it is."""

    url: str | None = None
    matches: bool | None = None
    tasks: bool | None = None
    phrases: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    note: str | None = None
    paused: bool | None = None


@dataclass(frozen=True, slots=True)
class Secret:
    """The seed of a secret, which also depends on a key outside of the catalog; ``key_mark`` is a hash of that key."""

    salt: str
    key_mark: str

    @classmethod
    def new(cls, key_mark: str) -> "Secret":
        """Create the seed of a new secret, with a random salt."""
        return cls(secrets.token_hex(16), key_mark)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook. Its next delivery has failed ``failures`` times since ``failing_since``; retried at ``retry_at``."""

    id: str
    collection_id: str
    url: str
    matches: bool
    tasks: bool
    filter: EventFilter
    note: str
    paused: bool
    secret: Secret
    cursor: EventCursor
    failures: int
    failing_since: datetime | None
    retry_at: datetime | None
    error: Mapping[str, str] | None
    delivered_at: datetime | None
    created_at: datetime
    changed_at: datetime
    dead_letters: int = field(default=0)


def create_webhook(catalog: Catalog, name: str, draft: WebhookDraft, secret: Secret) -> Webhook:
    """Make a webhook of a collection. Raises ``InvalidInput`` if there are too many."""
    with catalog.locked(name) as (connection, collection_id):
        of_collection = webhooks.c.collection_id == collection_id
        if (connection.scalar(select(func.count()).select_from(webhooks).where(of_collection)) or 0) >= MAX_WEBHOOKS:
            raise InvalidInput(f"The collection has {MAX_WEBHOOKS} webhooks already.", hint="Delete some.", field="url")
        columns = select(phrase_sets.c.events, phrase_sets.c.forgotten)
        last = connection.execute(columns.where(phrase_sets.c.collection_id == collection_id)).first()
        events, forgotten = (0, 0) if last is None else (last.events, last.forgotten)
        id, now = secrets.token_hex(_ID_LENGTH // 2), catalog.clock()
        row = {"url": draft.url, "matches": draft.matches, "tasks": draft.tasks, "note": checked_note(draft.note)}
        row |= _filter_columns(draft.filter) | asdict(secret)
        row |= {"sent": 0 if draft.from_beginning else events, "forgotten": forgotten}
        counts = {"letters": 0, "failures": 0}
        times = {"created_at": now, "changed_at": now}
        place = {"id": id, "collection_id": collection_id, "paused": draft.paused}
        connection.execute(insert(webhooks).values(**place, **row, **counts, **times))
        return _find(connection, collection_id, name, id)


def list_webhooks(catalog: Catalog, name: str) -> tuple[Webhook, ...]:
    """The webhooks of a collection, the oldest first."""
    with catalog.reading(name) as (connection, collection_id):
        dead = _dead_letters(connection, collection_id)
        chosen = select(webhooks).where(webhooks.c.collection_id == collection_id)
        rows = connection.execute(chosen.order_by(webhooks.c.created_at, webhooks.c.id)).all()
    return tuple(webhook_of(row, dead.get(row.id, 0)) for row in rows)


def get_webhook(catalog: Catalog, name: str, id: str) -> Webhook:
    """A webhook of a collection. Raises ``WebhookNotFound``."""
    with catalog.reading(name) as (connection, collection_id):
        return _find(connection, collection_id, name, id)


def change_webhook(catalog: Catalog, name: str, id: str, changes: WebhookChanges) -> Webhook:
    """Change fields of a webhook, which then tries again at once. Raises ``WebhookNotFound``."""
    checked_note(changes.note or "")
    values = {key: value for key, value in asdict(changes).items() if value is not None}
    if changes.tags is not None:
        values["tags"] = list(checked_tags(changes.tags))
    return _change(catalog, name, id, values)


def change_secret(catalog: Catalog, name: str, id: str, secret: Secret) -> Webhook:
    """Give a webhook a new secret, for all that it sends from now on. Raises ``WebhookNotFound``."""
    return _change(catalog, name, id, asdict(secret))


def delete_webhook(catalog: Catalog, name: str, id: str) -> None:
    """Delete a webhook with its letters. Raises ``WebhookNotFound``."""
    with catalog.locked(name) as (connection, collection_id):
        _find(connection, collection_id, name, id)
        # Its row is locked first: a task that ends meanwhile finds no webhook, and writes no letter.
        connection.execute(select(webhooks.c.id).where(webhooks.c.id == id).with_for_update())
        connection.execute(delete(webhook_letters).where(webhook_letters.c.webhook_id == id))
        connection.execute(delete(webhooks).where(webhooks.c.id == id))


def webhook_of(row: Row[*tuple[Any, ...]], dead_letters: int = 0) -> Webhook:
    """The webhook of a row."""
    return converted(
        row,
        Webhook,
        filter=EventFilter(tuple(row.phrases), tuple(row.tags)),
        secret=Secret(row.salt, row.key_mark),
        cursor=EventCursor(row.sent, row.forgotten),
        dead_letters=dead_letters,
    )


def _change(catalog: Catalog, name: str, id: str, values: Mapping[str, Any]) -> Webhook:
    at_once: dict[str, Any] = {"failures": 0, "failing_since": None, "retry_at": None, "error": None}
    with catalog.locked(name) as (connection, collection_id):
        _find(connection, collection_id, name, id)
        stamped = {**values, **at_once, "changed_at": catalog.clock()}
        connection.execute(update(webhooks).where(webhooks.c.id == id).values(stamped))
        return _find(connection, collection_id, name, id)


def _find(connection: Connection, collection_id: str, name: str, id: str) -> Webhook:
    # Text that cannot be an id is not sent to the database: not every text can be.
    known = id if len(id) == _ID_LENGTH and id.isascii() and id.isalnum() else ""
    named = (webhooks.c.collection_id == collection_id) & (webhooks.c.id == known)
    row = connection.execute(select(webhooks).where(named)).first()
    if row is None:
        raise WebhookNotFound(
            f"The collection {name} has no webhook {id[:80]!r}.", hint="List its webhooks.", field="id"
        )
    return webhook_of(row, _dead_letters(connection, collection_id).get(id, 0))


def _dead_letters(connection: Connection, collection_id: str) -> dict[str, int]:
    """The numbers of dead letters, by webhook."""
    dead = (webhook_letters.c.collection_id == collection_id) & webhook_letters.c.dead
    counts = select(webhook_letters.c.webhook_id, func.count()).where(dead).group_by(webhook_letters.c.webhook_id)
    return {row[0]: row[1] for row in connection.execute(counts)}


def _filter_columns(filter: EventFilter) -> dict[str, list[str]]:
    return {"phrases": list(filter.phrases), "tags": list(checked_tags(filter.tags))}
