"""Letters: what a webhook sends besides the events after its cursor.

The end of a task becomes a letter in the transaction that ends the task. A delivery that failed for too long becomes a
dead letter, which waits until someone sends it again. No letter holds a text: events are read when they are sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.tables import phrase_sets, tasks
from spanseek_webhooks.errors import LetterNotFound
from spanseek_webhooks.tables import webhook_letters, webhooks

LetterKind: TypeAlias = Literal["matches", "task"]
MAX_NUMBER: Final = 2**62


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter. ``content`` is a range of events, or a task; ``behind`` is the event that is to be sent before it."""

    webhook_id: str
    number: int
    kind: LetterKind
    dead: bool
    behind: int
    content: Mapping[str, Any]
    error: Mapping[str, str] | None
    created_at: datetime


def announce_ended(connection: Connection, task_id: str, now: datetime) -> None:
    """Write a letter to every webhook that is told of ended tasks, within the transaction that ends this one.

    The events that are there then are sent before it.
    """
    task = connection.execute(select(tasks).where(tasks.c.id == task_id)).one()
    told = select(webhooks.c.id).where(webhooks.c.collection_id == task.target_id, webhooks.c.tasks)
    names = ("id", "kind", "collection", "status")
    content = {name: getattr(task, name) for name in names} | {"finished_at": task.finished_at.isoformat()}
    last = select(phrase_sets.c.events).where(phrase_sets.c.collection_id == task.target_id)
    for id in connection.scalars(told).all():
        behind = connection.scalar(last) or 0
        add_letter(connection, id, {"kind": "task", "dead": False, "behind": behind, "content": content}, now)


def add_letter(connection: Connection, webhook_id: str, letter: Mapping[str, Any], now: datetime) -> None:
    """Add a letter of these columns to a webhook, behind all others; nothing happens if the webhook was deleted."""
    row = webhooks.c.id == webhook_id
    # The update waits for the row's lock, so that letters are committed in the order of their numbers.
    if connection.execute(update(webhooks).where(row).values(letters=webhooks.c.letters + 1)).rowcount:
        number, collection_id = connection.execute(
            select(webhooks.c.letters, webhooks.c.collection_id).where(row)
        ).one()
        place = {"webhook_id": webhook_id, "number": number, "collection_id": collection_id, "created_at": now}
        connection.execute(insert(webhook_letters).values(**place, **letter))


def next_letter(catalog: Catalog, webhook_id: str) -> Letter | None:
    """The first letter of a webhook that is not dead."""
    waiting = (webhook_letters.c.webhook_id == webhook_id) & webhook_letters.c.dead.is_(False)
    first = select(webhook_letters).where(waiting).order_by(webhook_letters.c.number).limit(1)
    with catalog.database.read() as connection:
        row = connection.execute(first).first()
    return None if row is None else _letter(row)


def dead_letters(catalog: Catalog, webhook_id: str, limit: int, after: int = 0) -> list[Letter]:
    """At most ``limit`` dead letters of a webhook, the oldest first, after a number."""
    dead = (webhook_letters.c.webhook_id == webhook_id) & webhook_letters.c.dead
    page = select(webhook_letters).where(dead, webhook_letters.c.number > after)
    with catalog.database.read() as connection:
        return list(map(_letter, connection.execute(page.order_by(webhook_letters.c.number).limit(limit))))


def revive_letter(catalog: Catalog, webhook_id: str, number: int) -> Letter:
    """Let a dead letter be sent next, before anything else. Raises ``LetterNotFound``."""
    with catalog.database.write() as connection:
        row = connection.execute(select(webhook_letters).where(_dead(webhook_id, number))).first()
        if row is None:
            raise _not_found(number)
        alive: dict[str, Any] = {"dead": False, "behind": 0, "error": None}
        connection.execute(update(webhook_letters).where(_dead(webhook_id, number)).values(alive))
        at_once: dict[str, Any] = {"retry_at": None, "failing_since": None, "failures": 0}
        connection.execute(update(webhooks).where(webhooks.c.id == webhook_id).values(at_once))
        return _letter(row)


def delete_letter(catalog: Catalog, webhook_id: str, number: int) -> None:
    """Delete a dead letter. Raises ``LetterNotFound``."""
    with catalog.database.write() as connection:
        if not connection.execute(delete(webhook_letters).where(_dead(webhook_id, number))).rowcount:
            raise _not_found(number)


def _dead(webhook_id: str, number: int) -> ColumnElement[bool]:
    named = (webhook_letters.c.webhook_id == webhook_id) & (webhook_letters.c.number == min(number, MAX_NUMBER))
    return named & webhook_letters.c.dead


def _letter(row: Row[*tuple[Any, ...]]) -> Letter:
    return Letter(**{name: getattr(row, name) for name in Letter.__dataclass_fields__})


def _not_found(number: int) -> LetterNotFound:
    return LetterNotFound(
        f"The webhook has no dead letter {number}.", hint="List them; one that was sent again is gone.", field="number"
    )
