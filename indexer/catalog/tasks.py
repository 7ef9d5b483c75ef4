"""The rows of tasks: received, queued, listed, cancelled, and kept for a while when they have ended.

``claims`` has what workers do with them.
"""

import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias, get_args

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from indexer.catalog.branches import end_task
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import is_dead, this_process
from indexer.catalog.sql import listed
from indexer.catalog.tables import tasks
from indexer.errors import TaskBacklogFull, TaskNotFound
from models.types import JsonValue

# ``receiving``: its body is still arriving, and nothing has been promised.
Status: TypeAlias = Literal["receiving", "queued", "running", "done", "failed", "cancelled"]
Ended: TypeAlias = Literal["done", "failed", "cancelled"]
STATUSES: tuple[Status, ...] = get_args(Status)
_PENDING: Final = ("receiving", "queued", "running")
# As long may a body pause that arrives at a server of another host; those of dead processes here are known to be dead.
_RECEIVING_S: Final = 3600.0
# A task without a body takes so much of the backlog.
_LEAST_BYTES: Final = 4096
_ID_LENGTH: Final = 24


@dataclass(frozen=True, slots=True)
class Task:
    """A task. ``done`` of ``total`` says how far it is, ``checkpoint`` where it goes on when it is resumed.

    One that met ``error`` is left alone until ``retry_at``; it has made no progress since ``waiting_since``.
    """

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
    failures: int
    waiting_since: datetime | None
    retry_at: datetime | None


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
        lock_tasks(connection)
        now = catalog.clock()
        _check_backlog(connection, id, new.bytes, limit, now)
        claim = {"holder": this_process(), "expires_at": now + timedelta(seconds=_RECEIVING_S)}
        claim = claim if status == "receiving" else {}
        connection.execute(insert(tasks).values(**row, **claim, bytes=max(new.bytes, _LEAST_BYTES), created_at=now))
        return _task(connection.execute(select(*_COLUMNS).where(tasks.c.id == id)).one())


def grow_task(catalog: Catalog, id: str, size: int, *, limit: int) -> None:
    """Record how much of a body has arrived, and that it still does.

    Raises ``TaskBacklogFull``, and ``ClaimLost`` for a deleted row.
    """
    with catalog.database.write() as connection:
        lock_tasks(connection)
        _check_backlog(connection, id, size, limit, catalog.clock())
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
        return find_task(connection, id)


def forget_task(catalog: Catalog, id: str) -> None:
    """Delete the row of a task whose body did not arrive."""
    with catalog.database.write() as connection:
        connection.execute(delete(tasks).where(tasks.c.id == id))


def get_task(catalog: Catalog, id: str) -> Task:
    """A task as it is now. Raises ``TaskNotFound``."""
    with catalog.database.read() as connection:
        return find_task(connection, id)


def get_tasks(catalog: Catalog, ids: Iterable[str]) -> list[Task]:
    """The tasks of these ids that are there."""
    with catalog.database.read() as connection:
        query = select(*_COLUMNS).where(tasks.c.id.in_(listed(connection, ids)))
        return [_task(row) for row in connection.execute(query)]


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


def cancel_task(catalog: Catalog, id: str, *, undone: Collection[str] = ()) -> Task:
    """Cancel a task: a queued one at once, a running one when its worker hears of it. One that has ended stays.

    Of the kinds ``undone`` a worker removes what the task has made: one that has begun is queued for that.
    """
    with catalog.database.write() as connection:
        lock_tasks(connection)
        queued, running = (_named(id) & (tasks.c.status == status) for status in ("queued", "running"))
        begun = queued & tasks.c.kind.in_(undone) & (tasks.c.starts > 0)
        ended: dict[str, Any] = {"status": "cancelled", "finished_at": catalog.clock(), "options": {}, "bytes": 0}
        stop: dict[str, Any] = {"cancelled": True, "retry_at": None}
        if connection.execute(update(tasks).where(queued & ~begun).values(ended | stop)).rowcount:
            end_task(connection, id, catalog.clock())
        connection.execute(update(tasks).where(begun | running).values(stop))
        return find_task(connection, id)


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
        _forget_gone(connection, catalog.clock())
        connection.execute(delete(tasks).where(tasks.c.finished_at <= until))
        return {row.id: row.status in _PENDING for row in connection.execute(select(tasks.c.id, tasks.c.status))}


_COLUMNS: Final = tuple(tasks.c[name] for name in Task.__dataclass_fields__)


def _named(id: str) -> ColumnElement[bool]:
    # Text that cannot be an id is not sent to the database: not every text can be.
    return tasks.c.id == (id if len(id) == _ID_LENGTH and id.isascii() and id.isalnum() else "")


def find_task(connection: Connection, id: str) -> Task:
    """A task, read in a transaction. Raises ``TaskNotFound``."""
    row = connection.execute(select(*_COLUMNS).where(_named(id))).first()
    if row is None:
        raise TaskNotFound(f"There is no task {id[:80]!r}", hint="List the tasks; old ones are forgotten.", field="id")
    return _task(row)


def _task(row: Row[*tuple[Any, ...]]) -> Task:
    return Task(**row._mapping)


def lock_tasks(connection: Connection) -> None:
    """Exclude others that queue or claim until the transaction ends; readers go on."""
    if connection.dialect.name == "postgresql":  # on SQLite there is one writer
        connection.exec_driver_sql("LOCK TABLE tasks IN SHARE ROW EXCLUSIVE MODE")


def _forget_gone(connection: Connection, now: datetime) -> int:
    """Delete the rows of bodies that stopped arriving; returns their number."""
    receiving = tasks.c.status == "receiving"
    rows = connection.execute(select(tasks.c.id, tasks.c.holder, tasks.c.expires_at).where(receiving)).all()
    gone = [row.id for row in rows if row.expires_at < now or is_dead(row.holder)]
    return connection.execute(delete(tasks).where(receiving, tasks.c.id.in_(gone))).rowcount if gone else 0


def _check_backlog(connection: Connection, id: str, size: int, limit: int, now: datetime) -> None:
    others = select(func.sum(tasks.c.bytes)).where(tasks.c.status.in_(_PENDING), tasks.c.id != id)
    held = int(connection.scalar(others) or 0)
    if held + max(size, _LEAST_BYTES) > limit:
        if _forget_gone(connection, now):
            _check_backlog(connection, id, size, limit, now)
            return
        raise TaskBacklogFull(
            f"The tasks that wait hold {held:,} bytes already; with this one they would hold more than {limit:,}.",
            hint="Retry when some are done; `GET /tasks` shows them. An upload may be at most so large.",
        )
