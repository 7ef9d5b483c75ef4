"""Aliases: further names of collections. Any number of them change in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from indexer.catalog.collections import Catalog, lock_names, named
from indexer.catalog.names import checked_collection_name
from indexer.catalog.tables import aliases, collections
from indexer.errors import AliasNotFound, CollectionExists, CollectionNotFound


@dataclass(frozen=True, slots=True)
class Alias:
    """A further name of a collection."""

    name: str
    collection: str
    changed_at: datetime


def list_aliases(catalog: Catalog) -> tuple[Alias, ...]:
    """All aliases, by name."""
    rows = (
        select(aliases.c.name, collections.c.name, aliases.c.changed_at)
        .join_from(aliases, collections)
        .order_by(aliases.c.name)
    )
    with catalog.database.read() as connection:
        return tuple(Alias(*row) for row in connection.execute(rows))


def set_aliases(catalog: Catalog, targets: Mapping[str, str | None]) -> None:
    """Let aliases name these collections, and delete those whose target is None: all at one moment, or none.

    A target may be an alias, and then stands for its collection as it was before. Raises ``CollectionNotFound``,
    ``CollectionExists`` if a collection has the name, and ``AliasNotFound`` for one to delete that is not there.
    """
    with catalog.database.write() as connection:
        lock_names(connection)
        ids = {name: _id_of(connection, target) for name, target in targets.items() if target is not None}
        for name in targets:
            _refuse_collection(connection, checked_collection_name(name))
            deleted = connection.execute(delete(aliases).where(aliases.c.name == name)).rowcount
            if name in ids:
                row = {"name": name, "collection_id": ids[name], "changed_at": catalog.clock()}
                connection.execute(insert(aliases).values(row))
            elif not deleted:
                raise alias_not_found(name)


def alias_not_found(name: str) -> AliasNotFound:
    """The error for a name that is no alias."""
    return AliasNotFound(f"There is no alias {name!r}", hint="List the aliases.", field="alias")


def _id_of(connection: Connection, name: str) -> str:
    id = connection.scalar(select(collections.c.id).where(named(name)))
    if id is None:
        raise CollectionNotFound(
            f"There is no collection {name!r}", hint="Create it before an alias names it.", field="collection"
        )
    return str(id)


def _refuse_collection(connection: Connection, name: str) -> None:
    if connection.scalar(select(collections.c.id).where(collections.c.name == name)) is not None:
        raise CollectionExists(
            f"{name!r} is a collection, so it cannot be an alias",
            hint="Choose another name: aliases and collections share theirs.",
            field="alias",
        )
