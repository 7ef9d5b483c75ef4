"""Copy a catalog, read at one moment, into a new SQLite file."""

from contextlib import closing
from pathlib import Path

from sqlalchemy import insert, select

from indexer.catalog.collections import Catalog
from indexer.catalog.database import Database
from indexer.catalog.schema import upgrade
from indexer.catalog.tables import leases, metadata, tasks

_ROWS_AT_ONCE = 5_000


def copy_catalog(catalog: Catalog, path: Path) -> str:
    """Write every row of a catalog, except its leases and its tasks, to a new SQLite file. Return the URL of the file.

    All rows are of one moment, on SQLite and on PostgreSQL. Writers are not blocked, and memory stays bounded.
    Tasks belong to the server that promised them, and their bodies are not copied.
    """
    url = f"sqlite:///{path}"
    upgrade(url)
    with (
        closing(Database(url)) as copy,
        catalog.database.snapshot() as reading,
        copy.write() as writing,
    ):
        reading.execution_options(yield_per=_ROWS_AT_ONCE)
        for table in metadata.sorted_tables:
            if table not in (leases, tasks):
                for rows in reading.execute(select(table)).mappings().partitions():
                    writing.execute(insert(table), [dict(row) for row in rows])
    return url
