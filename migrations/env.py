"""Run by Alembic, with a connection from ``indexer.catalog.schema`` that is in a transaction already."""

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.schema import SchemaItem

from indexer.catalog.branches import Branch, branches
from indexer.catalog.tables import metadata

_LOCK = 0x5350414E  # any number, as long as it is always this one


def _migrate(connection: Connection, branch: Branch | None) -> None:
    # Two migrations at once wait for each other: on SQLite because the transaction began as a writer's.
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    others = {table.name for each in branches() if each is not branch for table in each.tables}

    def is_ours(item: SchemaItem, name: str | None, kind: str, reflected: bool, other: SchemaItem | None) -> bool:
        return kind != "table" or not (name in others or str(name).startswith("alembic_version"))

    context.configure(
        connection=connection,
        target_metadata=metadata,
        transactional_ddl=True,
        version_table="alembic_version" if branch is None else branch.version_table,
        include_object=is_ours,
    )
    with context.begin_transaction():
        context.run_migrations()


_migrate(context.config.attributes["connection"], context.config.attributes["branch"])
