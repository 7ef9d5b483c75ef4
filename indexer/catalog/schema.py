"""Create the tables, migrate them, and check their version.

Alembic is imported only to migrate, because every command checks the version.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sqlalchemy import Connection, column, inspect, select, text

from indexer.catalog.branches import Branch, branches
from indexer.catalog.collections import Catalog
from indexer.catalog.database import Database
from indexer.catalog.failures import INIT_HINT
from indexer.catalog.urls import printable
from indexer.errors import CatalogNotInitialised

if TYPE_CHECKING:
    from alembic.config import Config

# The newest revision of the package ``migrations``; a test compares them.
VERSION = "0018"
# Alembic's context is global to the process. Other processes wait at the database.
_one_at_a_time = Lock()


def upgrade(url: str, version: str = "head") -> None:
    """Upgrade the tables from any version, to the newest or an earlier one, in one transaction.

    Tables of plug-ins are made and upgraded with the newest version only.
    """
    from alembic import command

    def run(connection: Connection) -> None:
        command.upgrade(_config(connection), version)
        for branch in branches() if version == "head" else ():
            command.upgrade(_config(connection, branch), version)

    _migrate(url, run)


def downgrade(url: str, revision: str) -> None:
    """Downgrade the tables to a revision; ``base`` drops all tables and their data, also those of plug-ins."""
    from alembic import command

    def run(connection: Connection) -> None:
        for branch in branches() if revision == "base" else ():
            command.downgrade(_config(connection, branch), revision)
        command.downgrade(_config(connection), revision)

    _migrate(url, run)


def check(catalog: Catalog) -> None:
    """Return if the database answers, and its tables have the versions of this Spanseek and its plug-ins.

    Raises ``CatalogUnavailable`` or ``CatalogNotInitialised``.
    """
    plugins = ((branch.version_table, branch.version, f"the plug-in {branch.name}") for branch in branches())
    with catalog.database.snapshot() as connection:
        for table, version, whose in (("alembic_version", VERSION, "this Spanseek"), *plugins):
            found = _versions(connection, table)
            if found != [version]:
                raise CatalogNotInitialised(
                    f"The catalog at {printable(catalog.database.url)} has {_in_words(found)}, "
                    f"{whose} needs {_in_words([version])}",
                    hint=INIT_HINT,
                )


def draft(url: str, *, message: str, plugin: str = "") -> None:
    """Write a migration from the newest revision to the present tables, of the core or a plug-in; for developers."""
    from alembic import command
    from alembic.script import ScriptDirectory

    upgrade(url)
    branch = next((each for each in branches() if each.name == plugin), None)

    def run(connection: Connection) -> None:
        config = _config(connection, branch)
        number = len(list(ScriptDirectory.from_config(config).walk_revisions())) + 1
        command.revision(config, message, autogenerate=True, rev_id=f"{number:04}")

    _migrate(url, run)


def _versions(connection: Connection, table: str) -> list[str]:
    has_version = inspect(connection).has_table(table)
    return list(connection.scalars(select(column("version_num")).select_from(text(table)))) if has_version else []


def _config(connection: Connection | None = None, branch: Branch | None = None) -> "Config":
    """Alembic's configuration, without a file. The package ``migrations`` is found by name: it imports this one."""
    from alembic.config import Config

    package = find_spec("migrations")
    if package is None or package.origin is None:
        raise AssertionError("the package migrations is installed with this one")
    folder = Path(package.origin).parent
    config = Config()
    # Alembic interpolates options, so a percent sign in a path must be doubled.
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    versions = folder / "versions" if branch is None else branch.versions
    config.set_main_option("version_locations", str(versions).replace("%", "%%"))
    config.attributes["connection"], config.attributes["branch"] = connection, branch
    return config


def _migrate(url: str, run: Callable[[Connection], object]) -> None:
    from alembic.util import CommandError

    with _one_at_a_time, closing(Database(url)) as database, database.write() as connection:
        try:
            run(connection)
        except CommandError as error:  # the tables have a revision that is not among ours
            raise CatalogNotInitialised(
                f"The catalog at {printable(database.url)} has tables of a later version of Spanseek: {error}",
                hint="Use the version of Spanseek that wrote it, or a later one.",
            ) from error


def _in_words(versions: Sequence[str]) -> str:
    return f"tables of version {' and '.join(versions)}" if versions else "no tables"
