"""Erase deleted rows from the files of SQLite, and prove it.

Deleted rows stay in the main file until it is rewritten, and in the write-ahead log until the log is truncated, which a
reader of an earlier state prevents for as long as its transaction lasts. Nobody waits for it: every try takes its locks
for its own work alone. A file beside the catalog asks later jobs and running servers for further tries, until one
succeeds.
"""

import secrets
import time
from pathlib import Path
from typing import Final

from indexer.catalog.database import Database
from indexer.disk import full_disk_named
from indexer.errors import CatalogUnavailable, StorageFull
from models.atomic import fsync

ENDING: Final = "-erasing"
# Before every try; a read of a server takes milliseconds.
_PAUSES_S: Final = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)

_POSTGRESQL: Final = (
    "the files of PostgreSQL, its write-ahead log and the archives of it keep deleted rows until PostgreSQL overwrites "
    "them (VACUUM, checkpoints), which Spanseek can neither hasten nor see"
)


def erase_deleted(database: Database) -> str | None:
    """Erase what deleted rows left behind; None if it is proved, else what remains and until when.

    Raises ``StorageFull`` where not even the request for further tries can be written.
    """
    if database.file is None:
        return _POSTGRESQL
    _ask(database.file)
    for seconds in _PAUSES_S:
        time.sleep(seconds)
        if _try(database, database.file):
            return None
    _ask(database.file)  # another process may have answered the first request, too early
    return (
        f"{database.file.name} and its log keep deleted rows until those who use the catalog now end their "
        "transactions; then the next job, or a running server, erases them"
    )


def finish_erasing(database: Database) -> bool:
    """Erase what an earlier job had to leave, if nothing prevents it now; False if something does."""
    if database.file is None or not _request(database.file).exists():
        return True
    return _try(database, database.file)


def _try(database: Database, file: Path) -> bool:
    """Erase, and withdraw the request unless it was renewed meanwhile; False if others prevent it."""
    asked = _asked(file)
    try:
        # Truncated before: rewriting costs much, and would be in vain while somebody reads an earlier state.
        if not database.truncate_log():
            return False
        database.rewrite()
        if not database.truncate_log():
            return False
    except (CatalogUnavailable, StorageFull):
        return False
    if _asked(file) == asked:
        _request(file).unlink(missing_ok=True)
    return True


def _ask(file: Path) -> None:
    with full_disk_named():
        _request(file).write_bytes(secrets.token_bytes(8))
        fsync(_request(file))
        fsync(file.parent)


def _asked(file: Path) -> bytes | None:
    try:
        return _request(file).read_bytes()
    except FileNotFoundError:
        return None


def _request(file: Path) -> Path:
    return file.with_name(file.name + ENDING)
