"""SQLite in a folder that cannot be written: a read-only mount, or one of another user.

SQLite keeps two files beside a database in use: the write-ahead log, and an index of it. In such a folder it cannot
create them, so there are three cases (each was tried; SQLite 3.40):

- No log, or an empty one: the last writer closed the database. It opens as immutable, and nobody may write to it then.
- A log and its index, left by a writer that was killed or still runs: it opens as usual.
- A log without its index, such as in a copy: it does not open, and must be opened once where it can be written.
"""

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from indexer.errors import CatalogUnavailable


def is_read_only(path: Path) -> bool:
    """True for a database in a folder in which this process cannot create files."""
    return path.exists() and not os.access(path.parent, os.W_OK)


def connect(path: Path, busy_s: float) -> sqlite3.Connection:
    """A connection that only reads. Raises ``CatalogUnavailable`` in the third case."""
    log, index = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    has_log = log.exists() and log.stat().st_size > 0
    if has_log and not index.exists():
        raise CatalogUnavailable(
            f"The catalog {path} was not closed by its last writer, and its folder cannot be written.",
            hint="Run `spanseek verify` once where the folder can be written; it closes the catalog properly.",
        )
    uri = f"file:{quote(str(path.absolute()))}?{'mode=ro' if has_log else 'immutable=1'}"
    return sqlite3.connect(uri, uri=True, timeout=busy_s, isolation_level=None, check_same_thread=False)
