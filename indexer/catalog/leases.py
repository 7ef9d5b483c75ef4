"""One writer per collection.

The lease only keeps writers from wasting work. That no two of them publish at once does not rest on clocks:
each publish locks the collection's row and finds its own token in the lease, or is refused.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Thread

import psutil
from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.tables import collections, leases
from indexer.errors import CatalogUnavailable, CollectionBusy, LeaseLost

logger = logging.getLogger(__name__)

_BEATS_PER_TTL = 3  # two may fail before the lease runs out


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to publish to one collection, until somebody else may take it."""

    collection_id: str
    collection: str
    holder: str
    token: str
    ttl: float

    def end(self, now: datetime) -> datetime:
        """When the lease runs out if it is renewed now."""
        return now + timedelta(seconds=self.ttl)


@contextmanager
def lease(catalog: Catalog, collection_name: str, holder: str | None = None, ttl: float = 30.0) -> Iterator[Lease]:
    """Holds the collection's lease while the block runs, renewing it in the background.

    Raises ``CollectionBusy`` while another writer holds it. The lease of a process that died on this host is
    free at once, any other when it runs out.
    """
    if ttl <= 0:
        raise ValueError(f"a lease must last longer than {ttl} seconds")
    held = _take(catalog, collection_name, holder or this_process(), ttl)
    try:
        with beating(lambda: _stays_ours(catalog, held), every=ttl / _BEATS_PER_TTL):
            yield held
    finally:
        _release(catalog, held)


@contextmanager
def holding(catalog: Catalog, held: Lease) -> Iterator[tuple[Connection, int]]:
    """A transaction that has the collection to itself, and the collection's present generation.

    Raises ``LeaseLost`` if the lease ran out or somebody else has it.
    """
    with catalog.database.write() as connection:
        generation = _lock(connection, held)
        if generation is None or not _renew_unexpired(connection, held, catalog.clock()):
            raise LeaseLost(
                f"The lease on collection {held.collection!r} ran out or was taken over; nothing was changed",
                hint="Start the job again; it goes on where it stopped.",
            )
        yield connection, generation
        # Once more, so that a long transaction does not eat up the lease that it runs under.
        _renew(connection, _is(held), held.end(catalog.clock()))


def _take(catalog: Catalog, name: str, holder: str, ttl: float) -> Lease:
    held = Lease(catalog.collection(name).id, name, holder, uuid.uuid4().hex, ttl)
    with catalog.database.write() as connection:
        _lock(connection, held)
        now = catalog.clock()
        _refuse_if_held(connection, held, now)
        _replace(connection, held, now)
    return held


def _lock(connection: Connection, held: Lease) -> int | None:
    """Makes other writers of the collection wait for the end of the transaction; returns the generation."""
    return connection.scalar(
        select(collections.c.generation).where(collections.c.id == held.collection_id).with_for_update()
    )


def _refuse_if_held(connection: Connection, wanted: Lease, now: datetime) -> None:
    row = connection.execute(select(leases).where(leases.c.collection_id == wanted.collection_id)).first()
    if row is None or row.expires_at <= now or is_dead(row.holder):
        return
    until = row.expires_at.isoformat(timespec="seconds")
    raise CollectionBusy(
        f"Collection {wanted.collection!r} is being written to by {row.holder}, which holds it until {until}",
        hint="Wait until it has finished. If it is gone, its lease ends at that time by itself.",
        field="collection",
    )


def _replace(connection: Connection, held: Lease, now: datetime) -> None:
    connection.execute(delete(leases).where(leases.c.collection_id == held.collection_id))
    connection.execute(
        insert(leases).values(
            collection_id=held.collection_id, holder=held.holder, token=held.token, expires_at=held.end(now)
        )
    )


def _renew_unexpired(connection: Connection, held: Lease, now: datetime) -> bool:
    # One that has run out is lost even if nobody took it: whoever waited for it may be about to.
    return _renew(connection, _is(held) & (leases.c.expires_at > now), held.end(now))


def _renew(connection: Connection, condition: ColumnElement[bool], until: datetime) -> bool:
    return connection.execute(update(leases).where(condition).values(expires_at=until)).rowcount == 1


def _stays_ours(catalog: Catalog, held: Lease) -> bool:
    try:
        with catalog.database.write() as connection:
            # A publish may be under way, and the clock has to be read after it: renewing as of the time before
            # could shorten the lease.
            _lock(connection, held)
            ours = _renew_unexpired(connection, held, catalog.clock())
    except CatalogUnavailable as error:
        logger.warning("could not renew the lease on %s, will try again: %s", held.collection, error)
        return True
    if not ours:
        logger.warning("lost the lease on %s", held.collection)
    return ours


def _release(catalog: Catalog, held: Lease) -> None:
    # The work is done or has failed already; a lease that cannot be given back runs out by itself.
    try:
        with catalog.database.write() as connection:
            connection.execute(delete(leases).where(_is(held)))
    except CatalogUnavailable as error:
        logger.warning("could not release the lease on %s: %s", held.collection, error)


def _is(held: Lease) -> ColumnElement[bool]:
    return (leases.c.collection_id == held.collection_id) & (leases.c.token == held.token)


# The system's clock counts the moment of start in whole seconds in places.
_SAME_START_SECONDS = 2.0


def this_process() -> str:
    """``host:pid:start-time`` of the running process; the time is in seconds since the host started.

    >>> is_dead(this_process())
    False
    """
    return f"{socket.gethostname()}:{os.getpid()}:{_started(psutil.Process()):.2f}"


def is_dead(holder: str) -> bool:
    """Whether the holder was a process of THIS host that is gone. Anything else may be alive for all we know.

    >>> is_dead("a machine far away:1:0.00"), is_dead("the night job")
    (False, False)
    """
    host, pid, start = _taken_apart(holder)
    return host == socket.gethostname() and not _runs(pid, start)


def _taken_apart(holder: str) -> tuple[str | None, int, float]:
    try:
        host, pid, start = holder.rsplit(":", 2)
        return host, int(pid), float(start)
    except ValueError:
        return None, 0, 0.0


def _runs(pid: int, start: float) -> bool:
    # The start time tells the holder from a later process that was given the same pid.
    try:
        process = psutil.Process(pid)
        alive: bool = process.status() != psutil.STATUS_ZOMBIE
        return alive and abs(_started(process) - start) < _SAME_START_SECONDS
    except psutil.AccessDenied:
        return True
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return False


def _started(process: psutil.Process) -> float:
    # Counted from the start of the host, which stays the same when somebody sets the clock.
    return float(process.create_time()) - float(psutil.boot_time())


@contextmanager
def beating(beat: Callable[[], bool], *, every: float) -> Iterator[None]:
    """Calls ``beat`` on a thread every so many seconds, until it answers False or the block ends."""
    over = Event()
    thread = Thread(target=_run, args=(beat, every, over), name="spanseek-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        # A beat that is under way ends first: it may be using a connection that the caller is about to close.
        thread.join()


def _run(beat: Callable[[], bool], every: float, over: Event) -> None:
    while not over.wait(every) and beat():
        pass
