"""Claims on tasks: of each collection one task runs at a time; what fails is tried again, ever later.

A worker holds a claim with a token, and renews it. Every change of a running task names the token, so that a worker
that lost its claim changes nothing any more.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Row, func, select, update

from indexer.catalog.branches import end_task
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import is_dead, this_process
from indexer.catalog.tables import collections, tasks
from indexer.catalog.tasks import ClaimLost, Ended, Task, find_task, lock_tasks
from indexer.errors import TaskInterrupted
from models.errors import SpanseekError
from models.types import JsonValue

# Seconds after which a claim that is not renewed is free.
_CLAIM_S: Final = 30.0
_LONGEST_S: Final = 300.0
# Kinds that pass no other one of their collection: the last version of a document is the one that counts.
_IN_ORDER: Final = ("upload",)
# Kinds that write nothing, and so run beside others of their collection; of them all one at a time, which leaves
# workers to the others.
_READING: Final = ("mine",)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_INTERRUPTED: Final = TaskInterrupted(
    "The process that ran the task ended, more than once, before the task had made progress.",
    hint="Its log, or that of the machine, may say why; cancel the task if it is to blame.",
)

_Row: TypeAlias = Row[*tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Claim:
    """The right of one worker to run a task. ``collection`` is its collection's own name, None of a deleted one."""

    task: Task
    options: Mapping[str, Any]
    token: str
    collection: str | None


def backoff(failures: int) -> float:
    """Seconds for which a task is left alone that failed so many times without progress.

    >>> [backoff(failures) for failures in (0, 1, 2, 3, 9, 10, 9999)]
    [0.0, 1.0, 2.0, 4.0, 256.0, 300.0, 300.0]
    """
    return min(2.0 ** min(failures - 1, 16), _LONGEST_S) if failures else 0.0


def claim_task(catalog: Catalog) -> Claim | None:
    """Claim the task whose turn it is, if there is one.

    Of each collection one task that writes runs at a time, in the order of their arrival; others pass one that waits to
    be tried again, but no upload passes an upload. The collection that was served longest ago comes first, and tries
    that failed before come after the first ones of other collections, unless they have waited for long.
    """
    with catalog.database.read() as connection:
        rows = _pending(connection)
    now = catalog.clock()
    if not any(_heads(rows, now)) and not any(_is_interrupted(row, now) for row in rows):
        return None
    with catalog.database.write() as connection:
        lock_tasks(connection)
        now = catalog.clock()
        for row in _pending(connection):
            if _is_interrupted(row, now):
                _queue_interrupted(connection, row, now)
        first = _first(connection, list(_heads(_pending(connection), now)), now)
        return None if first is None else _claimed(connection, first, now)


def renew_claim(catalog: Catalog, claim: Claim) -> bool:
    """Renew a claim; returns whether the task is to be cancelled. Raises ``ClaimLost``."""
    with catalog.database.write() as connection:
        _change(connection, claim, {"expires_at": catalog.clock() + timedelta(seconds=_CLAIM_S)})
        return bool(connection.scalar(select(tasks.c.cancelled).where(tasks.c.id == claim.task.id)))


def record_progress(
    catalog: Catalog, claim: Claim, done: int, total: int | None, checkpoint: Mapping[str, JsonValue]
) -> None:
    """Record how far a task is, which never falls back. Raises ``ClaimLost``."""
    with catalog.database.write() as connection:
        before = connection.scalar(select(tasks.c.done).where(tasks.c.id == claim.task.id)) or 0
        changes: dict[str, Any] = {"done": max(done, before), "total": total, "checkpoint": dict(checkpoint)}
        _change(connection, claim, changes | (_WELL if done > before else {}))


def finish_task(
    catalog: Catalog,
    claim: Claim,
    status: Ended,
    *,
    result: Mapping[str, Any] | None = None,
    error: SpanseekError | None = None,
) -> None:
    """Record the end of a task; its options, which may hold texts, are erased. Raises ``ClaimLost``."""
    ended: dict[str, Any] = {"status": status, "result": result, "finished_at": catalog.clock()}
    with catalog.database.write() as connection:
        _change(
            connection, claim, ended | _FREE | _WELL | {"error": error and _as_row(error), "options": {}, "bytes": 0}
        )
        end_task(connection, claim.task.id, catalog.clock())


def release_task(catalog: Catalog, claim: Claim) -> None:
    """Queue a task again whose run was broken off; any worker may go on with it at once. Raises ``ClaimLost``."""
    with catalog.database.write() as connection:
        _change(connection, claim, {"status": "queued", **_FREE})


def retry_task(catalog: Catalog, claim: Claim, error: SpanseekError) -> datetime:
    """Queue a task again that failed by this error; returns when it is tried again. Raises ``ClaimLost``."""
    with catalog.database.write() as connection:
        columns = select(tasks.c.failures, tasks.c.waiting_since).where(tasks.c.id == claim.task.id)
        failures, since = connection.execute(columns).one_or_none() or (0, None)
        now = catalog.clock()
        retry_at = now + timedelta(seconds=backoff(failures + 1))
        waits = {"failures": failures + 1, "waiting_since": since or now, "retry_at": retry_at}
        _change(connection, claim, {"status": "queued", "error": _as_row(error), **waits, **_FREE})
    return retry_at


def _as_row(error: SpanseekError) -> dict[str, str]:
    """An error as it is stored with a task."""
    return {"code": error.code, "detail": str(error), "hint": error.hint}


_FREE: Final[dict[str, Any]] = {"holder": None, "token": None, "expires_at": None}
_WELL: Final[dict[str, Any]] = {"failures": 0, "waiting_since": None, "retry_at": None, "error": None}


def _pending(connection: Connection) -> Sequence[_Row]:
    names = ("id", "kind", "target_id", "status", "holder", "expires_at", "starts", "started_at", "cancelled")
    columns = (tasks.c[name] for name in (*names, "failures", "waiting_since", "retry_at", "error"))
    pending = select(*columns).where(tasks.c.status.in_(("queued", "running")))
    return connection.execute(pending.order_by(tasks.c.id)).all()


def _heads(rows: Sequence[_Row], now: datetime) -> Iterator[_Row]:
    """Yield the queued tasks that may run now.

    These are the oldest task that only reads, while no such task runs; and for each collection that no running task
    writes to, the oldest one that writes. Tasks of kinds in ``_IN_ORDER`` wait for earlier ones of their collection.
    """
    reading = [row for row in rows if row.kind in _READING]
    if all(row.status == "queued" for row in reading):
        yield from islice((row for row in reading if row.retry_at is None or row.retry_at <= now), 1)
    writing = [row for row in rows if row.kind not in _READING]
    busy = {row.target_id for row in writing if row.status == "running"}
    held: set[str] = set()
    for row in writing:
        if row.target_id in busy or (row.kind in _IN_ORDER and row.target_id in held):
            continue
        if row.retry_at is None or row.retry_at <= now:
            busy.add(row.target_id)
            yield row
        elif row.kind in _IN_ORDER:
            held.add(row.target_id)


def _first(connection: Connection, heads: Sequence[_Row], now: datetime) -> _Row | None:
    """The head whose turn it is."""
    latest = select(tasks.c.target_id, func.max(tasks.c.tried_at)).group_by(tasks.c.target_id)
    targets = {row.target_id for row in heads}
    served: dict[str, datetime | None] = {}
    if len(targets) > 1:
        served = {row[0]: row[1] for row in connection.execute(latest.where(tasks.c.target_id.in_(targets)))}

    def turn(row: _Row) -> tuple[bool, datetime, str]:
        failed_lately = row.retry_at is not None and row.retry_at > now - timedelta(seconds=_LONGEST_S)
        return failed_lately, served.get(row.target_id) or _NEVER, row.id

    return min(heads, key=turn, default=None)


def _claimed(connection: Connection, row: _Row, now: datetime) -> Claim:
    token = uuid.uuid4().hex
    changes = {"status": "running", "token": token, "holder": this_process(), "starts": row.starts + 1}
    times = {"expires_at": now + timedelta(seconds=_CLAIM_S), "started_at": row.started_at or now, "tried_at": now}
    connection.execute(update(tasks).where(tasks.c.id == row.id).values(**changes, **times, retry_at=None))
    options = connection.scalar(select(tasks.c.options).where(tasks.c.id == row.id))
    task = find_task(connection, row.id)
    own = connection.scalar(select(collections.c.name).where(collections.c.id == task.target_id))
    # A task that makes a collection has no target yet.
    return Claim(task, options or {}, token, own if task.target_id else task.collection)


def _is_interrupted(row: _Row, now: datetime) -> bool:
    """True for a running task whose worker died."""
    if row.status != "running":
        return False
    return row.expires_at is None or row.expires_at <= now or row.holder is None or is_dead(row.holder)


def _queue_interrupted(connection: Connection, row: _Row, now: datetime) -> None:
    """Queue a task whose worker died: at once where that happened for the first time since it made progress."""
    # Pauses count from the last sign of life, however long the task took to end its process.
    ended = now if row.expires_at is None else min(now, row.expires_at - timedelta(seconds=_CLAIM_S))
    changes: dict[str, Any] = {"status": "queued", "failures": row.failures + 1, **_FREE}
    changes["waiting_since"] = row.waiting_since or ended
    if row.failures and not row.cancelled:
        retry_at = ended + timedelta(seconds=backoff(row.failures))
        changes |= {"retry_at": retry_at, "error": row.error or _as_row(_INTERRUPTED)}
    connection.execute(update(tasks).where(tasks.c.id == row.id).values(changes))


def _change(connection: Connection, claim: Claim, values: Mapping[str, Any]) -> None:
    held = (tasks.c.id == claim.task.id) & (tasks.c.token == claim.token)
    if not connection.execute(update(tasks).where(held).values(dict(values))).rowcount:
        raise ClaimLost
