"""Insert the rows of a collection from another catalog, under new ids."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, insert, or_, select

from indexer.catalog.branches import all_tables, is_of_installation
from indexer.catalog.collections import Catalog, lock_names
from indexer.catalog.tables import aliases, collections
from indexer.errors import CollectionExists

_ROWS_AT_ONCE: Final = 5_000


@dataclass(frozen=True, slots=True)
class Names:
    """The id and the name of the new collection, and the new name of every segment."""

    collection_id: str
    name: str
    segments: Mapping[str, str]


def adopt_collection(target: Catalog, source: Catalog, names: Names, last: Callable[[], object]) -> None:
    """Insert the rows of the only collection of ``source``, in one transaction, and call ``last`` at its end.

    Nothing is inserted where ``last`` raises. Raises ``CollectionExists`` where a collection or an alias has the name.
    """
    calibrations: defaultdict[str, str] = defaultdict(lambda: uuid.uuid4().hex)
    with source.database.snapshot() as reading, target.database.write() as writing:
        lock_names(writing)
        _check_free(writing, names.name)
        reading.execution_options(yield_per=_ROWS_AT_ONCE)
        for table in all_tables():
            if is_of_installation(table):
                continue
            for rows in reading.execute(select(table)).mappings().partitions():
                writing.execute(insert(table), [_renamed(table.name, dict(row), names, calibrations) for row in rows])
        last()


def _check_free(connection: Connection, name: str) -> None:
    taken = or_(
        select(collections.c.id).where(collections.c.name == name).exists(),
        select(aliases.c.name).where(aliases.c.name == name).exists(),
    )
    if connection.scalar(select(taken)):
        raise CollectionExists(
            f"A collection or an alias has the name {name!r} already",
            hint="Restore under another name, or delete what has this one.",
            field="name",
        )


def _renamed(table: str, row: dict[str, Any], names: Names, calibrations: Mapping[str, str]) -> dict[str, Any]:
    """A row with new ids: a segment's or calibration's id is unique in a catalog."""
    if "collection_id" in row:
        row["collection_id"] = names.collection_id
    if row.get("calibration_id") is not None:
        row["calibration_id"] = calibrations[row["calibration_id"]]
    if "segment" in row:
        row["segment"] = names.segments[row["segment"]]
    if table == collections.name:
        row |= {"id": names.collection_id, "name": names.name}
    elif table == "segments":
        row["name"] = names.segments[row["name"]]
    elif table == "calibrations":
        row["id"] = calibrations[row["id"]]
    return row
