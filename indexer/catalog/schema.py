"""Making the tables, and saying whether they are there."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import migrations
from indexer.catalog.collections import Catalog
from indexer.catalog.database import INIT_HINT, Database, printable
from indexer.errors import CatalogNotInitialised

# Alembic's context is global to the process. Other processes wait at the database.
_one_at_a_time = Lock()


def upgrade(url: str) -> None:
    """Brings the tables up to date, from whatever version they have; all of it, or nothing."""
    _migrate(url, lambda config: command.upgrade(config, "head"))


def downgrade(url: str, revision: str) -> None:
    """Takes the tables back to a revision; ``base`` leaves none, and no data."""
    _migrate(url, lambda config: command.downgrade(config, revision))


def check(catalog: Catalog) -> None:
    """Returns if the database answers and has the tables of this version of Spanseek.

    Raises ``CatalogUnavailable`` or ``CatalogNotInitialised`` if not.
    """
    with catalog.database.snapshot() as connection:
        found = MigrationContext.configure(connection).get_current_heads()
    wanted = ScriptDirectory.from_config(_config()).get_heads()
    if sorted(found) != sorted(wanted):
        raise CatalogNotInitialised(
            f"The catalog at {printable(catalog.database.url)} has {_version(found)}, "
            f"this Spanseek needs {_version(wanted)}",
            hint=INIT_HINT,
        )


def draft(url: str, *, message: str) -> None:
    """For developers: writes the step from the newest migration to what ``tables`` says now."""
    upgrade(url)
    number = len(list(ScriptDirectory.from_config(_config()).walk_revisions())) + 1
    _migrate(url, lambda config: command.revision(config, message, autogenerate=True, rev_id=f"{number:04}"))


def _config() -> Config:
    """Alembic's configuration: the installed package, wherever it lies, and no file."""
    result = Config()
    # Alembic interpolates options, so that a percent sign in the path must be doubled.
    result.set_main_option("script_location", str(Path(migrations.__path__[0])).replace("%", "%%"))
    return result


def _migrate(url: str, run: Callable[[Config], object]) -> None:
    with _one_at_a_time, closing(Database(url)) as database, database.write() as connection:
        settings = _config()
        settings.attributes["connection"] = connection
        run(settings)


def _version(revisions: list[str] | tuple[str, ...]) -> str:
    return f"tables of version {' and '.join(revisions)}" if revisions else "no tables"
