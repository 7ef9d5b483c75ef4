"""Segments that are no longer read: their rows stay until their files may go."""

from collections.abc import Collection as Some
from datetime import datetime

from sqlalchemy import Connection, delete, func, select, update

from indexer.catalog.leases import Lease, holding
from indexer.catalog.lists import listed
from indexer.catalog.repository import Catalog
from indexer.catalog.tables import documents, segments, tombstones
from models.errors import InvalidInput


def retire_segments(connection: Connection, lease: Lease, names: Some[str], generation: int, now: datetime) -> None:
    """Within a transaction: from this generation on nobody reads these segments. Their tombstones have done their work.

    Raises ``InvalidInput`` if a live document lies in one of them: nobody could find it any more.
    """
    of_segments = documents.c.segment.in_(listed(connection, names))
    living = connection.scalar(select(func.count()).select_from(documents).where(of_segments))
    if living:
        raise InvalidInput(
            f"{living} live documents lie in the segments that should be retired",
            hint="Publish a segment that has them in the same step.",
            field="retires",
        )
    connection.execute(delete(tombstones).where(tombstones.c.segment.in_(listed(connection, names))))
    these = (segments.c.collection_id == lease.collection_id) & segments.c.name.in_(listed(connection, names))
    connection.execute(update(segments).where(these).values(retired_in=generation, retired_at=now))


def forget_retired(catalog: Catalog, lease: Lease, until: datetime) -> None:
    """Take segments that were retired by this time out of the catalog: nothing names what lies on disk of them then."""
    with holding(catalog, lease) as (connection, _):
        these = (segments.c.collection_id == lease.collection_id) & (segments.c.retired_at <= until)
        connection.execute(delete(segments).where(these))
