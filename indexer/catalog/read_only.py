"""SQLite where nothing can be written: a read-only mount, a folder of another user, or a disk without any room.

SQLite keeps two files beside a database in use: the write-ahead log, and an index of it. There it cannot create them,
so there are three cases (each was tried; SQLite 3.40):

- No log, or an empty one: the last writer closed the database. It opens as immutable, and nobody may write to it then.
- A log and its index, left by a writer that was killed or still runs: it opens as usual.
- A log without its index, such as in a copy: it does not open, and must be opened once where it can be written.

A disk may have room again at any moment. So an immutable connection on a full one is closed after its use
(:func:`is_passing`), and the next one looks again.
"""

import os
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from indexer.errors import CatalogUnavailable

# The index of a log has 32 KiB from the start; a page, a frame and their headers come with the first write.
_FILES_BYTES: Final = 2**16


class _OnFullDisk(sqlite3.Connection):
    """An immutable connection on a full disk."""


def is_read_only(path: Path) -> bool:
    """True for a database in a folder in which this process cannot create files."""
    return path.exists() and not os.access(path.parent, os.W_OK)


def is_full(path: Path) -> bool:
    """True for a database that is closed, on a disk without room for the files of one in use."""
    if not path.exists() or any(map(_size, _beside(path))):
        return False
    disk = os.statvfs(path.parent)
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    has_no_inode = bool(disk.f_files) and not disk.f_ffree
    return free * disk.f_frsize < _FILES_BYTES or has_no_inode


def is_passing(connection: object, path: Path) -> bool:
    """True for an immutable connection to a database whose folder can be written once the disk has room."""
    return isinstance(connection, _OnFullDisk) and not is_read_only(path)


def connect_full(path: Path, busy_s: float) -> sqlite3.Connection:
    """A connection that only reads, to a database of which :func:`is_full` is true."""
    return _connect(path, "immutable=1", busy_s, _OnFullDisk)


def connect(path: Path, busy_s: float) -> sqlite3.Connection:
    """A connection that only reads. Raises ``CatalogUnavailable`` in the third case."""
    log, index = _beside(path)
    has_log = _size(log) > 0
    if has_log and not index.exists():
        raise CatalogUnavailable(
            f"The catalog {path} was not closed by its last writer, and its folder cannot be written.",
            hint="Run `spanseek verify` once where the folder can be written; it closes the catalog properly.",
        )
    return _connect(path, "mode=ro" if has_log else "immutable=1", busy_s)


def _beside(path: Path) -> tuple[Path, Path]:
    """The write-ahead log and its index."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _size(path: Path) -> int:
    """The size of a file; 0 where there is none, also where another process has just removed it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _connect(
    path: Path, mode: str, busy_s: float, kind: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?{mode}"
    return sqlite3.connect(uri, uri=True, timeout=busy_s, isolation_level=None, check_same_thread=False, factory=kind)
