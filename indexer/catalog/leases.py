"""Leases: one writer per collection.

A lease saves concurrent writers from wasted work. Correctness does not depend on clocks: each publish locks the
collection's row, and is refused unless the lease has its token.
"""

import logging
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import psutil
from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from indexer.catalog import lease_queue
from indexer.catalog.collections import Catalog, collection_id, lock_collection, lock_names
from indexer.catalog.tables import collections, leases
from indexer.errors import CatalogUnavailable, CollectionBusy, LeaseLost, StorageFull
from indexer.heartbeat import beating
from indexer.machine import pid_namespace
from indexer.patience import Busy, refuse

logger = logging.getLogger(__name__)

_BEATS_PER_TTL = 3  # two may fail before the lease runs out

# The lease itself cannot be written.
_FAILURES = (CatalogUnavailable, StorageFull)

# Tokens that this process may have left in the catalog, where it did not answer, and that none of its writers uses.
# Each is added, tested and removed in one operation, which the interpreter does not interrupt.
_abandoned: set[str] = set()


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to publish to a collection until it expires."""

    collection_id: str
    collection: str
    holder: str
    token: str
    ttl: float

    def end(self, now: datetime) -> datetime:
        """The time at which the lease expires if it is renewed now."""
        return now + timedelta(seconds=self.ttl)


@contextmanager
def lease(
    catalog: Catalog,
    collection_name: str,
    holder: str | None = None,
    ttl: float = 30.0,
    again: Busy | None = None,
) -> Iterator[Lease]:
    """Hold the collection's lease while the block runs, and renew it in the background.

    Raises ``CollectionBusy`` if another writer holds it and ``again`` returns False. ``again`` may wait first; by
    default, it is the catalog's patience. Two leases are free at once: one of a process of this host that has ended,
    and one that this process could not release because the catalog did not answer. Any other is free when it expires.
    """
    if ttl <= 0:
        raise ValueError(f"a lease must last longer than {ttl} seconds")
    busy = catalog.patience() if again is None else again
    held = _take_patiently(catalog, collection_name, holder or this_process(), ttl, busy)
    try:
        with beating(lambda: _renewed(catalog, held), every=ttl / _BEATS_PER_TTL):
            yield held
    finally:
        _release(catalog, held)


@contextmanager
def holding(catalog: Catalog, held: Lease, *, names: bool = False) -> Iterator[tuple[Connection, int]]:
    """A transaction that holds the collection's lock, and the collection's present generation.

    With ``names`` it excludes changes of aliases, too, which lock names before collections, as this does. Raises
    ``LeaseLost`` if the lease has expired or was taken over.
    """
    with catalog.database.write() as connection:
        if names:
            lock_names(connection)
        generation = _lock(connection, held)
        if generation is None or not _renew_unexpired(connection, held, catalog.clock()):
            raise LeaseLost(
                f"The lease on collection {held.collection!r} ran out or was taken over; nothing was changed",
                hint="Start the job again; it goes on where it stopped.",
            )
        yield connection, generation
        # Renewed again, so that a long transaction does not use up the lease.
        _renew(connection, _is(held), held.end(catalog.clock()))


def _take_patiently(catalog: Catalog, name: str, holder: str, ttl: float, again: Busy) -> Lease:
    while True:
        try:
            return _take(catalog, name, holder, ttl)
        except CollectionBusy as error:
            _wait(catalog, name, holder, again, error)


def _wait(catalog: Catalog, name: str, holder: str, again: Busy, busy: CollectionBusy) -> None:
    """Return when the lease looks free; raises ``CollectionBusy`` when ``again`` says no."""
    while True:
        if again is not refuse:
            _queue(catalog, name, holder)
        if not again(busy):
            raise busy
        try:
            return _refuse_if_seen_held(catalog, name, holder)
        except CollectionBusy as error:
            busy = error


def _refuse_if_seen_held(catalog: Catalog, name: str, holder: str) -> None:
    """The look of those who wait: it locks nothing, and so never delays the writer whose end it waits for."""
    with catalog.database.read() as connection:
        _refuse_if_held(connection, _Requested(collection_id(connection, name), name, holder), catalog.clock())


def _queue(catalog: Catalog, name: str, holder: str) -> None:
    """Take or renew the place of those who try again, so that nobody who comes later passes them for long."""
    with catalog.database.read() as connection:
        if not lease_queue.is_due(connection, collection_id(connection, name), holder, catalog.clock()):
            return
    with catalog.database.write() as connection:
        id, _ = lock_collection(connection, name)
        lease_queue.take_place(connection, id, holder, catalog.clock())


def _take(catalog: Catalog, name: str, holder: str, ttl: float) -> Lease:
    token = uuid.uuid4().hex
    try:
        with catalog.database.write() as connection:
            # Not the alias, which may name another collection before the lease ends.
            held = Lease(*lock_collection(connection, name), holder, token, ttl)
            now = catalog.clock()
            _refuse_if_held(connection, _Requested(held.collection_id, held.collection, holder), now)
            lease_queue.leave(connection, held.collection_id, holder, now)
            _replace(connection, held, now)
    except _FAILURES:  # perhaps after the commit
        _abandoned.add(token)
        raise
    return held


def _lock(connection: Connection, held: Lease) -> int | None:
    """Lock the collection's row until the transaction ends; returns the generation."""
    return connection.scalar(
        select(collections.c.generation).where(collections.c.id == held.collection_id).with_for_update()
    )


class _Requested(NamedTuple):
    """A lease that a holder asks for."""

    collection_id: str
    collection: str
    holder: str


def _refuse_if_held(connection: Connection, requested: _Requested, now: datetime) -> None:
    row = connection.execute(select(leases).where(leases.c.collection_id == requested.collection_id)).first()
    if row is None or row.expires_at <= now or row.token in _abandoned or is_dead(row.holder):
        _refuse_if_others_wait(connection, requested, now)
        return
    until = row.expires_at.isoformat(timespec="seconds")
    raise CollectionBusy(
        f"Collection {requested.collection!r} is being written to by {row.holder}, which holds it until {until}",
        hint="Wait until it has finished. If it is gone, its lease ends at that time by itself.",
        collection=requested.collection,
    )


def _refuse_if_others_wait(connection: Connection, requested: _Requested, now: datetime) -> None:
    for holder in lease_queue.before(connection, requested.collection_id, requested.holder, now):
        if not is_dead(holder):
            raise CollectionBusy(
                f"Collection {requested.collection!r} is about to be written to by {holder}, which has waited for it",
                hint="Retry in a moment.",
                collection=requested.collection,
            )


def _replace(connection: Connection, held: Lease, now: datetime) -> None:
    connection.execute(delete(leases).where(leases.c.collection_id == held.collection_id))
    connection.execute(
        insert(leases).values(
            collection_id=held.collection_id, holder=held.holder, token=held.token, expires_at=held.end(now)
        )
    )


def _renew_unexpired(connection: Connection, held: Lease, now: datetime) -> bool:
    # An expired lease is lost even if no writer has taken it over yet: one may be about to.
    return _renew(connection, _is(held) & (leases.c.expires_at > now), held.end(now))


def _renew(connection: Connection, condition: ColumnElement[bool], until: datetime) -> bool:
    return connection.execute(update(leases).where(condition).values(expires_at=until)).rowcount == 1


def _renewed(catalog: Catalog, held: Lease) -> bool:
    try:
        with catalog.database.write() as connection:
            # Read the clock after waiting for a publish under way: an earlier time could shorten the lease.
            _lock(connection, held)
            renewed = _renew_unexpired(connection, held, catalog.clock())
    except _FAILURES as error:
        logger.warning("could not renew the lease on %s, will try again: %s", held.collection, error)
        return True
    if not renewed:
        logger.warning("lost the lease on %s", held.collection)
    return renewed


def _release(catalog: Catalog, held: Lease) -> None:
    # A lease that cannot be released expires; this process may replace it at once.
    _abandoned.add(held.token)
    try:
        with catalog.database.write() as connection:
            connection.execute(delete(leases).where(_is(held)))
    except _FAILURES as error:
        logger.warning("could not release the lease on %s: %s", held.collection, error)
    else:
        _abandoned.discard(held.token)


def _is(held: Lease) -> ColumnElement[bool]:
    return (leases.c.collection_id == held.collection_id) & (leases.c.token == held.token)


# Some systems record start times in whole seconds.
_SAME_START_SECONDS = 2.0


def this_process() -> str:
    """``host:pid:start-time@namespace`` of the running process; the time is in seconds since the host started.

    >>> is_dead(this_process())
    False
    """
    return f"{socket.gethostname()}:{os.getpid()}:{_started(psutil.Process()):.2f}@{pid_namespace()}"


def is_dead(holder: str) -> bool:
    """True if the holder was a process that would be seen here, and has ended. Any other may be alive.

    >>> is_dead("a machine far away:1:0.00"), is_dead("the night job")
    (False, False)
    """
    name, _, namespace = holder.partition("@")
    host, pid, start = _parsed(name)
    # Holders of before version 0.3 have no namespace.
    return host == socket.gethostname() and namespace in ("", pid_namespace()) and not _runs(pid, start)


def _parsed(name: str) -> tuple[str | None, int, float]:
    try:
        host, pid, start = name.rsplit(":", 2)
        return host, int(pid), float(start)
    except ValueError:
        return None, 0, 0.0


def _runs(pid: int, start: float) -> bool:
    # The start time distinguishes the holder from a later process with the same pid.
    try:
        process = psutil.Process(pid)
        alive: bool = process.status() != psutil.STATUS_ZOMBIE
        return alive and abs(_started(process) - start) < _SAME_START_SECONDS
    except psutil.AccessDenied:
        return True
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return False


def _started(process: psutil.Process) -> float:
    # Relative to the start of the host, so that setting the clock does not change it.
    return float(process.create_time()) - float(psutil.boot_time())
