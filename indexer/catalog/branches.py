"""Tables that plug-ins add to the catalog, with migrations of their own.

Every plug-in has a version table of its own, instead of a branch in Alembic's: a Spanseek without the plug-in opens,
checks and migrates the same database, and one that gets it back finds its rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, MetaData, Table, inspect, select

from indexer.catalog.tables import OF_INSTALLATION, metadata
from models.entry_points import entry_points_of


def _nothing(connection: Connection, task_id: str, now: datetime) -> None:
    """Do nothing when a task ends."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The tables of a plug-in, which an entry point of the group ``spanseek.tables`` names.

    ``version`` is the newest revision in the folder ``versions``. The tables are made with ``metadata`` of
    ``indexer.catalog.tables``; snapshots of collections leave them out. The rows of ``locked`` are locked before those
    of a collection are deleted. ``task_ended`` is called in the transaction that ends a task.
    """

    name: str
    version: str
    versions: Path
    tables: tuple[Table, ...]
    locked: tuple[Table, ...] = ()
    task_ended: Callable[[Connection, str, datetime], None] = _nothing

    @property
    def version_table(self) -> str:
        """The table with the revision of the tables."""
        return f"alembic_version_{self.name}"


@cache
def branches() -> tuple[Branch, ...]:
    """The branches of all plug-ins, loaded."""
    return tuple(point.load() for point in entry_points_of("spanseek.tables").values())


def all_tables() -> list[Table]:
    """All tables, those of plug-ins among them: each after those that it refers to."""
    branches()
    return metadata.sorted_tables


def is_of_installation(table: Table) -> bool:
    """True for tables that snapshots of a collection leave out."""
    return table in OF_INSTALLATION or any(table in branch.tables for branch in branches())


def end_task(connection: Connection, task_id: str, now: datetime) -> None:
    """Tell plug-ins of the end of a task, within the transaction that ends it."""
    for branch in branches():
        branch.task_ended(connection, task_id, now)


def lock_rows(connection: Connection, collection_id: str) -> None:
    """Lock the rows of a collection that plug-ins want locked before any are deleted."""
    for table in (table for branch in branches() for table in branch.locked):
        of_collection = table.c.collection_id == collection_id
        connection.execute(select(table.c.collection_id).where(of_collection).with_for_update())


def foreign_tables(connection: Connection) -> list[Table]:
    """The tables of plug-ins that are not installed: each after those that it refers to."""
    known = {table.name for table in all_tables()}
    unknown = [name for name in inspect(connection).get_table_names() if name not in known]
    found = MetaData()
    found.reflect(connection, only=unknown)
    return [table for table in found.sorted_tables if table.name in unknown]
