"""Copy a catalog, read at one moment, into a new SQLite file."""

from contextlib import closing
from pathlib import Path

from sqlalchemy import ColumnElement, Table, insert, select

from indexer.catalog.branches import all_tables, is_of_installation
from indexer.catalog.collections import Catalog
from indexer.catalog.database import Database
from indexer.catalog.schema import upgrade
from indexer.catalog.tables import (
    collections,
    lease_waits,
    leases,
    segments,
    tasks,
    tombstones,
)

_ROWS_AT_ONCE = 5_000


def copy_catalog(catalog: Catalog, path: Path, collection_id: str | None = None) -> str:
    """Write every row of a catalog, except its leases and its tasks, to a new SQLite file. Return the URL of the file.

    With ``collection_id`` only the rows of that collection, without keys, aliases, retired segments and plug-ins. All
    rows are of one moment, on SQLite and on PostgreSQL. Writers are not blocked, and memory stays bounded. Tasks belong
    to the server that promised them, and their bodies are not copied.
    """
    url = f"sqlite:///{path}"
    upgrade(url)
    with (
        closing(Database(url)) as copy,
        catalog.database.snapshot() as reading,
        copy.write() as writing,
    ):
        reading.execution_options(yield_per=_ROWS_AT_ONCE)
        for table in all_tables():
            chosen = _chosen(table, collection_id)
            if table in (leases, lease_waits, tasks) or chosen is None:
                continue
            for rows in reading.execute(select(table).where(*chosen)).mappings().partitions():
                writing.execute(insert(table), [dict(row) for row in rows])
    return url


def _chosen(table: Table, collection_id: str | None) -> tuple[ColumnElement[bool], ...] | None:
    """The condition on the rows to copy; None for a table that is left out."""
    if collection_id is None:
        return ()
    live = (segments.c.collection_id == collection_id) & segments.c.retired_in.is_(None)
    if table is collections:
        return (collections.c.id == collection_id,)
    if table is segments:
        return (live,)
    if table is tombstones:
        return (tombstones.c.segment.in_(select(segments.c.name).where(live)),)
    if is_of_installation(table) or "collection_id" not in table.c:
        return None
    return (table.c.collection_id == collection_id,)
