"""Create the tables, migrate them, and check their version.

Alembic is imported only to migrate, because every command checks the version.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from indexer.catalog.collections import Catalog
from indexer.catalog.database import Database
from indexer.catalog.failures import INIT_HINT
from indexer.catalog.urls import printable
from indexer.errors import CatalogNotInitialised

if TYPE_CHECKING:
    from alembic.config import Config

# The newest revision of the package ``migrations``; a test compares them.
VERSION = "0017"
# Alembic's context is global to the process. Other processes wait at the database.
_one_at_a_time = Lock()


def upgrade(url: str, version: str = "head") -> None:
    """Upgrade the tables from any version, to the newest or an earlier one, in one transaction."""
    from alembic import command

    _migrate(url, lambda config: command.upgrade(config, version))


def downgrade(url: str, revision: str) -> None:
    """Downgrade the tables to a revision; ``base`` drops all tables and their data."""
    from alembic import command

    _migrate(url, lambda config: command.downgrade(config, revision))


def check(catalog: Catalog) -> None:
    """Return if the database answers and its tables have the version of this Spanseek.

    Raises ``CatalogUnavailable`` or ``CatalogNotInitialised``.
    """
    with catalog.database.snapshot() as connection:
        has_version = inspect(connection).has_table("alembic_version")
        versions = connection.scalars(text("SELECT version_num FROM alembic_version")).all() if has_version else []
    if list(versions) != [VERSION]:
        raise CatalogNotInitialised(
            f"The catalog at {printable(catalog.database.url)} has {_in_words(versions)}, "
            f"this Spanseek needs {_in_words([VERSION])}",
            hint=INIT_HINT,
        )


def draft(url: str, *, message: str) -> None:
    """Write a migration from the newest revision to the present ``tables``; for developers."""
    from alembic import command
    from alembic.script import ScriptDirectory

    upgrade(url)
    number = len(list(ScriptDirectory.from_config(_config()).walk_revisions())) + 1
    _migrate(url, lambda config: command.revision(config, message, autogenerate=True, rev_id=f"{number:04}"))


def _config() -> "Config":
    """Alembic's configuration, without a file. The package ``migrations`` is found by name: it imports this one."""
    from alembic.config import Config

    package = find_spec("migrations")
    if package is None or package.origin is None:
        raise AssertionError("the package migrations is installed with this one")
    config = Config()
    # Alembic interpolates options, so a percent sign in the path must be doubled.
    config.set_main_option("script_location", str(Path(package.origin).parent).replace("%", "%%"))
    return config


def _migrate(url: str, run: "Callable[[Config], object]") -> None:
    from alembic.util import CommandError

    with _one_at_a_time, closing(Database(url)) as database, database.write() as connection:
        config = _config()
        config.attributes["connection"] = connection
        try:
            run(config)
        except CommandError as error:  # the tables have a revision that is not among ours
            raise CatalogNotInitialised(
                f"The catalog at {printable(database.url)} has tables of a later version of Spanseek: {error}",
                hint="Use the version of Spanseek that wrote it, or a later one.",
            ) from error


def _in_words(versions: Sequence[str]) -> str:
    return f"tables of version {' and '.join(versions)}" if versions else "no tables"
