"""The queue of processes that wait for a collection's lease; each process has one place.

A free lease goes to the process that asks first, so that one that writes without end could block the others for ever. A
process that has waited ``_PATIENT_S`` seconds therefore precedes all that came later. A place that is not renewed
expires.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from indexer.catalog.tables import lease_waits

# Seconds after which a place comes before those who do not wait, or came later: some short writes go together.
_PATIENT_S: Final = 0.25
# A place ends so many seconds after its renewal, and is renewed when half of them are over.
_PLACE_S: Final = 2.0


def before(connection: Connection, collection_id: str, holder: str, now: datetime) -> Iterator[str]:
    """Yield the holders whose turn comes before that of ``holder``, in order."""
    rows = connection.execute(
        select(lease_waits.c.holder, lease_waits.c.since)
        .where(lease_waits.c.collection_id == collection_id, lease_waits.c.expires_at > now)
        .where(lease_waits.c.since <= now - timedelta(seconds=_PATIENT_S))
        # A host whose clock is wrong could otherwise keep its place for longer.
        .where(lease_waits.c.expires_at <= now + timedelta(seconds=2 * _PLACE_S))
        .order_by(lease_waits.c.since, lease_waits.c.holder)
    )
    for row in rows:
        if row.holder == holder:
            return
        yield row.holder


def is_due(connection: Connection, collection_id: str, holder: str, now: datetime) -> bool:
    """True if a holder has no place, or one that is to be renewed."""
    until = connection.scalar(select(lease_waits.c.expires_at).where(*_place(collection_id, holder)))
    return until is None or until <= now + timedelta(seconds=_PLACE_S / 2)


def take_place(connection: Connection, collection_id: str, holder: str, now: datetime) -> None:
    """Give a holder a place, or renew the one that it has. The collection's row is locked."""
    until, place = now + timedelta(seconds=_PLACE_S), _place(collection_id, holder)
    connection.execute(delete(lease_waits).where(*place, lease_waits.c.expires_at <= now))
    if not connection.execute(update(lease_waits).where(*place).values(expires_at=until)).rowcount:
        connection.execute(
            insert(lease_waits).values(collection_id=collection_id, holder=holder, since=now, expires_at=until)
        )


def leave(connection: Connection, collection_id: str, holder: str, now: datetime) -> None:
    """Remove the place of a holder that has its turn, and those that have ended."""
    of_collection = lease_waits.c.collection_id == collection_id
    ended = (lease_waits.c.holder == holder) | (lease_waits.c.expires_at <= now)
    connection.execute(delete(lease_waits).where(of_collection, ended))


def _place(collection_id: str, holder: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return lease_waits.c.collection_id == collection_id, lease_waits.c.holder == holder
