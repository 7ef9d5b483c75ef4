"""The rows of tasks: queued, claimed by one worker at a time, resumed where a worker died, and kept when they end.

A worker holds a claim with a token, and renews it. Every change of a running task names the token, so that a worker
that lost its claim changes nothing any more.
"""

import secrets
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias, get_args

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, or_, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.leases import is_dead, this_process
from indexer.catalog.tables import collections, tasks
from indexer.errors import TaskBacklogFull, TaskNotFound
from models.types import JsonValue

# ``receiving``: its body is still arriving, and nothing has been promised.
Status: TypeAlias = Literal["receiving", "queued", "running", "done", "failed", "cancelled"]
Ended: TypeAlias = Literal["done", "failed", "cancelled"]
STATUSES: tuple[Status, ...] = get_args(Status)
_PENDING: Final = ("receiving", "queued", "running")
# Seconds after which a claim that is not renewed is free.
_CLAIM_S: Final = 30.0
# As long may a body pause that arrives at a server of another host; those of dead processes here are known to be dead.
_RECEIVING_S: Final = 3600.0
# A task without a body takes so much of the backlog.
_LEAST_BYTES: Final = 4096
_ID_LENGTH: Final = 24


@dataclass(frozen=True, slots=True)
class Task:
    """A task. ``done`` of ``total`` says how far it is, ``checkpoint`` where it goes on when it is resumed."""

    id: str
    kind: str
    collection: str
    target_id: str
    status: Status
    bytes: int
    done: int
    total: int | None
    checkpoint: Mapping[str, Any]
    result: Mapping[str, Any] | None
    error: Mapping[str, Any] | None
    cancelled: bool
    starts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Claim:
    """The right of one worker to run a task. ``collection`` is its collection's own name, None of a deleted one."""

    task: Task
    options: Mapping[str, Any]
    token: str
    collection: str | None


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to queue. ``bytes`` are those that it occupies until it ends."""

    kind: str
    collection: str
    target_id: str
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    bytes: int = 0


class ClaimLost(Exception):
    """The claim ran out and another worker has the task, or it was deleted. Workers catch it."""


def new_task_id() -> str:
    """An id; ids sort by time."""
    return f"{time.time_ns():016x}{secrets.token_hex(4)}"


def add_task(catalog: Catalog, id: str, new: NewTask, *, limit: int, status: Status = "queued") -> Task:
    """Queue a task; returns it.

    Raises ``TaskBacklogFull`` if those that have not ended hold more than ``limit`` bytes then.
    """
    row: dict[str, Any] = {
        "id": id,
        "kind": new.kind,
        "collection": new.collection,
        "target_id": new.target_id,
        "status": status,
    }
    row |= {"options": dict(new.options), "done": 0, "checkpoint": {}, "cancelled": False, "starts": 0}
    with catalog.database.write() as connection:
        _lock(connection)
        _check_backlog(connection, id, new.bytes, limit)
        now = catalog.clock()
        claim = {"holder": this_process(), "expires_at": now + timedelta(seconds=_RECEIVING_S)}
        claim = claim if status == "receiving" else {}
        connection.execute(insert(tasks).values(**row, **claim, bytes=max(new.bytes, _LEAST_BYTES), created_at=now))
        return _task(connection.execute(select(*_COLUMNS).where(tasks.c.id == id)).one())


def grow_task(catalog: Catalog, id: str, size: int, *, limit: int) -> None:
    """Record how much of a body has arrived, and that it still does.

    Raises ``TaskBacklogFull``, and ``ClaimLost`` for a deleted row.
    """
    with catalog.database.write() as connection:
        _lock(connection)
        _check_backlog(connection, id, size, limit)
        until = catalog.clock() + timedelta(seconds=_RECEIVING_S)
        receiving = (tasks.c.id == id) & (tasks.c.status == "receiving")
        changes = {"bytes": max(size, _LEAST_BYTES), "expires_at": until}
        if not connection.execute(update(tasks).where(receiving).values(changes)).rowcount:
            raise ClaimLost


def received(catalog: Catalog, id: str, size: int, total: int, options: Mapping[str, JsonValue]) -> Task:
    """Queue a task whose body has arrived. From here on it is promised. Raises ``ClaimLost`` for a deleted row."""
    receiving = (tasks.c.id == id) & (tasks.c.status == "receiving")
    changes = {"status": "queued", "bytes": max(size, _LEAST_BYTES), "total": total, "options": dict(options)}
    with catalog.database.write() as connection:
        done = connection.execute(update(tasks).where(receiving).values(**changes, holder=None, expires_at=None))
        if not done.rowcount:
            raise ClaimLost
        return _find(connection, id)


def forget_task(catalog: Catalog, id: str) -> None:
    """Delete the row of a task whose body did not arrive."""
    with catalog.database.write() as connection:
        connection.execute(delete(tasks).where(tasks.c.id == id))


def get_task(catalog: Catalog, id: str) -> Task:
    """A task as it is now. Raises ``TaskNotFound``."""
    with catalog.database.read() as connection:
        return _find(connection, id)


def list_tasks(
    catalog: Catalog,
    limit: int,
    before: str = "",
    *,
    collections: Sequence[str] | None = None,
    kinds: Sequence[str] = (),
    statuses: Sequence[str] = (),
) -> list[Task]:
    """Tasks, the newest first, before an id."""
    condition: ColumnElement[bool] = tasks.c.status != "receiving"
    if before:
        condition &= tasks.c.id < before
    if collections is not None:
        condition &= tasks.c.collection.in_(collections)
    if kinds:
        condition &= tasks.c.kind.in_(kinds)
    if statuses:
        condition &= tasks.c.status.in_(statuses)
    query = select(*_COLUMNS).where(condition).order_by(tasks.c.id.desc()).limit(limit)
    with catalog.database.read() as connection:
        return [_task(row) for row in connection.execute(query)]


def cancel_task(catalog: Catalog, id: str) -> Task:
    """Cancel a task: a queued one at once, a running one when its worker hears of it. One that has ended stays."""
    with catalog.database.write() as connection:
        _lock(connection)
        queued, running = (_named(id) & (tasks.c.status == status) for status in ("queued", "running"))
        ended = {"status": "cancelled", "cancelled": True, "finished_at": catalog.clock(), "options": {}, "bytes": 0}
        connection.execute(update(tasks).where(queued).values(ended))
        connection.execute(update(tasks).where(running).values(cancelled=True))
        return _find(connection, id)


def claim_task(catalog: Catalog) -> Claim | None:
    """Claim the oldest task that may run: of each collection one runs at a time, in the order of their arrival."""
    with catalog.database.read() as connection:
        if _next(connection, catalog.clock()) is None:
            return None
    with catalog.database.write() as connection:
        _lock(connection)
        now = catalog.clock()
        row = _next(connection, now)
        if row is None:
            return None
        token = uuid.uuid4().hex
        changes = {"status": "running", "token": token, "holder": this_process(), "starts": row.starts + 1}
        times = {"expires_at": now + timedelta(seconds=_CLAIM_S), "started_at": row.started_at or now}
        connection.execute(update(tasks).where(tasks.c.id == row.id).values(**changes, **times))
        options = connection.scalar(select(tasks.c.options).where(tasks.c.id == row.id))
        task = _find(connection, row.id)
        own = connection.scalar(select(collections.c.name).where(collections.c.id == task.target_id))
    # A task that makes a collection has no target yet.
    return Claim(task, options or {}, token, own if task.target_id else task.collection)


def renew_claim(catalog: Catalog, claim: Claim) -> bool:
    """Renew a claim; returns whether the task is to be cancelled. Raises ``ClaimLost``."""
    with catalog.database.write() as connection:
        _change(connection, claim, {"expires_at": catalog.clock() + timedelta(seconds=_CLAIM_S)})
        return bool(connection.scalar(select(tasks.c.cancelled).where(tasks.c.id == claim.task.id)))


def record_progress(
    catalog: Catalog, claim: Claim, done: int, total: int | None, checkpoint: Mapping[str, JsonValue]
) -> None:
    """Record how far a task is. Raises ``ClaimLost``."""
    with catalog.database.write() as connection:
        _change(connection, claim, {"done": done, "total": total, "checkpoint": dict(checkpoint)})


def finish_task(
    catalog: Catalog,
    claim: Claim,
    status: Ended,
    *,
    result: Mapping[str, Any] | None = None,
    error: Mapping[str, Any] | None = None,
) -> None:
    """Record the end of a task; its options, which may hold texts, are erased. Raises ``ClaimLost``."""
    ended: dict[str, Any] = {"status": status, "result": result, "error": error, "finished_at": catalog.clock()}
    with catalog.database.write() as connection:
        _change(connection, claim, ended | _FREE | {"options": {}, "bytes": 0})


def release_task(catalog: Catalog, claim: Claim, error: Mapping[str, Any] | None = None) -> None:
    """Queue a task again that was interrupted, with the error that it waits for, if any. Raises ``ClaimLost``."""
    with catalog.database.write() as connection:
        _change(connection, claim, {"status": "queued", "error": error, **_FREE})


@dataclass(frozen=True, slots=True)
class Backlog:
    """Tasks of one status that have not ended: their number, their bytes, and when the oldest was made."""

    tasks: int = 0
    bytes: int = 0
    oldest: datetime | None = None


def backlog(catalog: Catalog) -> dict[str, Backlog]:
    """The tasks that have not ended, by their status."""
    figures = func.count(), func.sum(tasks.c.bytes), func.min(tasks.c.created_at)
    pending = select(tasks.c.status, *figures).where(tasks.c.status.in_(_PENDING))
    with catalog.database.read() as connection:
        rows = connection.execute(pending.group_by(tasks.c.status)).all()
    return dict.fromkeys(_PENDING, Backlog()) | {row[0]: Backlog(int(row[1]), int(row[2]), row[3]) for row in rows}


def forget_ended(catalog: Catalog, until: datetime) -> dict[str, bool]:
    """Delete tasks that ended by this time, and those whose bodies stopped arriving.

    Returns the ids that are left, each with whether it has yet to end.
    """
    with catalog.database.write() as connection:
        rows = connection.execute(select(tasks.c.id, tasks.c.holder).where(tasks.c.status == "receiving")).all()
        dead = [row.id for row in rows if row.holder is not None and is_dead(row.holder)]
        gone = (tasks.c.status == "receiving") & ((tasks.c.expires_at < catalog.clock()) | tasks.c.id.in_(dead))
        connection.execute(delete(tasks).where(or_(gone, tasks.c.finished_at <= until)))
        return {row.id: row.status in _PENDING for row in connection.execute(select(tasks.c.id, tasks.c.status))}


_FREE: Final[dict[str, Any]] = {"holder": None, "token": None, "expires_at": None}
_COLUMNS: Final = tuple(tasks.c[name] for name in Task.__dataclass_fields__)


def _named(id: str) -> ColumnElement[bool]:
    # Text that cannot be an id is not sent to the database: not every text can be.
    return tasks.c.id == (id if len(id) == _ID_LENGTH and id.isascii() and id.isalnum() else "")


def _find(connection: Connection, id: str) -> Task:
    row = connection.execute(select(*_COLUMNS).where(_named(id))).first()
    if row is None:
        raise TaskNotFound(f"There is no task {id[:80]!r}", hint="List the tasks; old ones are forgotten.", field="id")
    return _task(row)


def _task(row: Row[*tuple[Any, ...]]) -> Task:
    return Task(**row._mapping)


def _lock(connection: Connection) -> None:
    """Exclude others that queue or claim until the transaction ends; readers go on."""
    if connection.dialect.name == "postgresql":  # on SQLite there is one writer
        connection.exec_driver_sql("LOCK TABLE tasks IN SHARE ROW EXCLUSIVE MODE")


def _check_backlog(connection: Connection, id: str, size: int, limit: int) -> None:
    others = select(func.sum(tasks.c.bytes)).where(tasks.c.status.in_(_PENDING), tasks.c.id != id)
    held = int(connection.scalar(others) or 0)
    if held + max(size, _LEAST_BYTES) > limit:
        raise TaskBacklogFull(
            f"The tasks that wait hold {held:,} bytes already; with this one they would hold more than {limit:,}.",
            hint="Retry when some are done; `GET /tasks` shows them. An upload may be at most so large.",
        )


def _next(connection: Connection, now: datetime) -> Row[*tuple[Any, ...]] | None:
    """The oldest task that may run: queued, or of a dead worker, in a collection where no other runs."""
    columns = (tasks.c.id, tasks.c.target_id, tasks.c.status, tasks.c.holder, tasks.c.expires_at, tasks.c.starts)
    pending = select(*columns, tasks.c.started_at).where(tasks.c.status.in_(("queued", "running")))
    rows = connection.execute(pending.order_by(tasks.c.id)).all()
    running = {row.target_id for row in rows if row.status == "running" and not _is_free(row, now)}
    return next((row for row in rows if row.target_id not in running), None)


def _is_free(row: Row[*tuple[Any, ...]], now: datetime) -> bool:
    return row.expires_at is None or row.expires_at <= now or row.holder is None or is_dead(row.holder)


def _change(connection: Connection, claim: Claim, values: Mapping[str, Any]) -> None:
    held = (tasks.c.id == claim.task.id) & (tasks.c.token == claim.token)
    if not connection.execute(update(tasks).where(held).values(dict(values))).rowcount:
        raise ClaimLost
