"""Deliveries of webhooks: one at a time for each, in order, each tried until it succeeds or has failed for too long.

A worker claims a webhook, sends what is next, and records the outcome with its token. One that is killed in between has
recorded nothing: the next one sends the same again. So every event is sent at least once, and none before an earlier
one was received or became a dead letter.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, exists, select, update

from indexer.catalog.claims import backoff
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import is_dead, this_process
from indexer.catalog.tables import phrase_sets
from indexer.catalog.tasks import ClaimLost
from indexer.phrases import EventCursor
from spanseek_webhooks.letters import Letter, add_letter
from spanseek_webhooks.rows import Webhook, webhook_of
from spanseek_webhooks.tables import webhook_letters, webhooks

_FREE: Final[dict[str, Any]] = {"holder": None, "token": None, "expires_at": None}
_WELL: Final[dict[str, Any]] = {"failures": 0, "failing_since": None, "retry_at": None, "error": None}


@dataclass(frozen=True, slots=True)
class Delivering:
    """The right of one worker to send what is next of a webhook."""

    webhook: Webhook
    token: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The content of a delivery: a letter, or the events up to a cursor. ``restart`` if they begin anew."""

    letter: Letter | None = None
    through: EventCursor | None = None
    restart: bool = False


def claim_delivery(catalog: Catalog, seconds: float) -> Delivering | None:
    """Claim the webhook that has something to send and was served longest ago, for so many seconds."""
    now = catalog.clock()
    with catalog.database.read() as connection:
        rows = connection.execute(_due(now)).all()
    free = [row for row in rows if _is_free(row, now)]
    for row in sorted(free, key=lambda row: (row.tried_at is not None, row.tried_at, row.id)):
        token = uuid.uuid4().hex
        held = {
            "token": token,
            "holder": this_process(),
            "tried_at": now,
            "expires_at": now + timedelta(seconds=seconds),
        }
        unchanged = webhooks.c.token.is_(None) if row.token is None else webhooks.c.token == row.token
        with catalog.database.write() as connection:
            taken = update(webhooks).where(webhooks.c.id == row.id, unchanged, webhooks.c.paused.is_(False))
            if connection.execute(taken.values(held)).rowcount:
                claimed = connection.execute(select(webhooks).where(webhooks.c.id == row.id)).one()
                return Delivering(webhook_of(claimed), token)
    return None


def record_sent(catalog: Catalog, claim: Delivering, sent: Sent, *, received: bool = True) -> None:
    """Record that a delivery was received, or, unless ``received``, that there was nothing to send.

    Raises ``ClaimLost``.
    """
    values = _WELL | ({"delivered_at": catalog.clock()} if received else {})
    with catalog.database.write() as connection:
        _change(connection, claim, values | _FREE | _moved(sent))
        if sent.letter is not None:
            connection.execute(delete(webhook_letters).where(_is(sent.letter)))


def record_failed(
    catalog: Catalog, claim: Delivering, sent: Sent, error: Mapping[str, str], given_up: timedelta
) -> datetime | None:
    """Record that a delivery failed; returns when it is tried again, or None if it became a dead letter.

    That happens when it has failed for as long as ``given_up``. Raises ``ClaimLost``.
    """
    now, webhook = catalog.clock(), claim.webhook
    since = webhook.failing_since or now
    if now - since < given_up:
        retry_at = now + timedelta(seconds=backoff(webhook.failures + 1))
        values = {"failures": webhook.failures + 1, "failing_since": since, "retry_at": retry_at, "error": dict(error)}
        with catalog.database.write() as connection:
            _change(connection, claim, values | _FREE)
        return retry_at
    with catalog.database.write() as connection:
        values = _WELL | {"error": dict(error)} | _FREE
        _change(connection, claim, values | (_moved(sent) if sent.letter is None else {}))
        dead = {"dead": True, "error": dict(error)}
        if sent.letter is not None:
            connection.execute(update(webhook_letters).where(_is(sent.letter)).values(dead))
        elif sent.through is not None:
            letter = {"kind": "matches", "behind": 0, "content": _range(webhook, sent.through, sent.restart)}
            add_letter(connection, webhook.id, letter | dead, now)
    return None


def _range(webhook: Webhook, through: EventCursor, restart: bool) -> dict[str, Any]:
    """The events of a delivery: enough to read them again."""
    after = EventCursor(0, through.forgotten) if restart else webhook.cursor
    numbers = {"after": after.number, "through": through.number, "forgotten": after.forgotten}
    filter = {"phrases": list(webhook.filter.phrases), "tags": list(webhook.filter.tags)}
    return {**numbers, **filter, "restart": restart}


def _due(now: datetime) -> Select[*tuple[Any, ...]]:
    """The webhooks that have something to send, and may try now."""
    c = webhooks.c
    waiting = exists().where(webhook_letters.c.webhook_id == c.id, webhook_letters.c.dead.is_(False))
    is_behind = c.matches & (phrase_sets.c.events > c.sent)
    joined = webhooks.outerjoin(phrase_sets, phrase_sets.c.collection_id == c.collection_id)
    columns = select(c.id, c.token, c.holder, c.expires_at, c.tried_at).select_from(joined)
    return columns.where(c.paused.is_(False), c.retry_at.is_(None) | (c.retry_at <= now), is_behind | waiting)


def _is_free(row: Row[*tuple[Any, ...]], now: datetime) -> bool:
    return row.token is None or row.expires_at <= now or is_dead(row.holder)


def _moved(sent: Sent) -> dict[str, Any]:
    if sent.through is None:
        return {}
    return {"sent": sent.through.number, "forgotten": sent.through.forgotten}


def _is(letter: Letter) -> ColumnElement[bool]:
    return (webhook_letters.c.webhook_id == letter.webhook_id) & (webhook_letters.c.number == letter.number)


def _change(connection: Connection, claim: Delivering, values: Mapping[str, Any]) -> None:
    held = (webhooks.c.id == claim.webhook.id) & (webhooks.c.token == claim.token)
    if not connection.execute(update(webhooks).where(held).values(dict(values))).rowcount:
        raise ClaimLost
