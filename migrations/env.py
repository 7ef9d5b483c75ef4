"""Run by Alembic, with a connection from ``indexer.catalog.schema`` that is in a transaction already."""

from alembic import context
from sqlalchemy import Connection, text

from indexer.catalog.tables import metadata

_LOCK = 0x5350414E  # any number, as long as it is always this one


def _migrate(connection: Connection) -> None:
    # Two migrations at once wait for each other: on SQLite because the transaction began as a writer's.
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
    with context.begin_transaction():
        context.run_migrations()


_migrate(context.config.attributes["connection"])
