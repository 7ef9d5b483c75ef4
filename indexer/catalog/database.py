"""Connections to the catalog's database: reads, snapshots and writes, on SQLite and PostgreSQL.

All differences between the two databases at run time are in this file, but for the errors in ``failures``.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from indexer.catalog import read_only
from indexer.catalog.failures import translated, unavailable
from indexer.catalog.urls import parsed
from indexer.catalog.watched_paths import WatchedPath
from indexer.errors import CatalogUnavailable
from models.failpoints import failpoint

Mode = Mapping[str, Any]

_BEGIN = "spanseek_begin"
_MODES: Mapping[str, Mapping[str, Mode]] = MappingProxyType(
    {
        "sqlite": {
            "read": {},
            "snapshot": {_BEGIN: "BEGIN"},
            # A transaction that begins as a reader cannot wait for the write lock: SQLite fails at once.
            "write": {_BEGIN: "BEGIN IMMEDIATE"},
        },
        "postgresql": {
            "read": {"isolation_level": "AUTOCOMMIT"},
            "snapshot": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
            # Row locks make writers queue. Statements after the lock must see what the previous writer committed.
            "write": {"isolation_level": "READ COMMITTED"},
        },
    }
)

# The connections that may write at once; SQLite has one writer.
_WRITERS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {"sqlite": {"pool_size": 1, "max_overflow": 0}, "postgresql": {"pool_size": 5, "max_overflow": 5}}
)

# With WAL readers continue while a writer commits; with FULL each commit survives a power failure.
# Deleted rows are overwritten with zeros.
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
_BUSY_SECONDS = 30.0
_REWRITE_SECONDS = 1.0
_RETRY_SECONDS = 0.01
_CONNECT_SECONDS = 5


class Database:
    """Connections to the catalog's database, made at first use.

    None is given out while the file of SQLite, or ``data_dir``, is not the one that the first connection saw:
    ``DataFolderLost`` is raised instead, and a transaction that has begun is rolled back.
    """

    def __init__(self, url: str, data_dir: Path | None = None) -> None:
        self.url = parsed(url)
        # Writers wait for each other. They hold connections meanwhile, which readers must not lack.
        self._readers, self._writers = _engine(self.url), _engine(self.url, **_WRITERS[self.url.get_backend_name()])
        self._watched_paths = _watched_paths(self.url, data_dir)
        self._modes = _MODES[self.url.get_backend_name()]

    def read(self) -> AbstractContextManager[Connection]:
        """A connection for a single statement that reads: no transaction, one round trip."""
        return self._connected("read")

    def snapshot(self) -> AbstractContextManager[Connection]:
        """A connection for several statements that read the same state."""
        return self._connected("snapshot")

    def write(self) -> AbstractContextManager[Connection]:
        """A connection for a transaction that writes: committed when the block ends, rolled back when it raises."""
        return self._connected("write")

    @property
    def file(self) -> Path | None:
        """The file of SQLite; None on PostgreSQL."""
        return Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None

    def truncate_log(self) -> bool:
        """Bring the log of SQLite into its file, and empty it: at once, or False while others use the log."""
        with self.read() as connection, _waiting(connection, 0.0):
            busy, frames, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        return (busy, frames) == (0, 0)

    def rewrite(self) -> None:
        """Write the file of SQLite anew, without what deleted rows left. Writers wait: about a second for 100 MB.

        Raises ``CatalogUnavailable`` if others write for longer than a moment.
        """
        with self.read() as connection, _waiting(connection, _REWRITE_SECONDS):
            connection.exec_driver_sql("VACUUM")

    def close(self) -> None:
        """Closes all connections."""
        self._readers.dispose()
        self._writers.dispose()
        for path in self._watched_paths:
            path.close()

    @contextmanager
    def _connected(self, mode: str) -> Iterator[Connection]:
        self._check_paths()  # before connecting: SQLite would create a file that is missing
        engine = self._writers if mode == "write" else self._readers
        with translated(self.url), engine.connect() as connection:
            for path in self._watched_paths:
                path.remember()
            connection.execution_options(**self._modes[mode])
            with connection.begin() as transaction:
                yield connection
                if mode == "write":
                    self._check_paths()
                    with failpoint("commit", Path(self.url.database or "")):
                        transaction.commit()

    def _check_paths(self) -> None:
        for path in self._watched_paths:
            path.check()


@contextmanager
def _waiting(connection: Connection, seconds: float) -> Iterator[None]:
    """Let a connection of SQLite wait so long for locks, and not as long as others."""
    connection.exec_driver_sql(f"PRAGMA busy_timeout={int(seconds * 1000)}")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout={int(_BUSY_SECONDS * 1000)}")


def _watched_paths(url: URL, data_dir: Path | None) -> list[WatchedPath]:
    file = [Path(url.database or "")] if url.get_backend_name() == "sqlite" else []
    return [WatchedPath(path) for path in (*file, data_dir) if path is not None]


def _engine(url: URL, **pool: int) -> Engine:
    # Parameters stay out of error messages: they hold ids of documents and hashes of secrets.
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url, **pool)
    return _postgresql_engine(url, **pool)


def _postgresql_engine(url: URL, **pool: int) -> Engine:
    try:
        return create_engine(
            url,
            hide_parameters=True,
            pool_pre_ping=True,
            **pool,
            connect_args={} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_SECONDS},
        )
    except ImportError as error:
        raise CatalogUnavailable(
            "PostgreSQL needs a driver that is not installed (psycopg 3)",
            hint="Install the extra `postgres`: pip install 'spanseek[postgres]'",
        ) from error


def _sqlite_engine(url: URL, **pool: int) -> Engine:
    _make_folder(url)
    # With isolation_level None Python's driver begins no transactions; the listener does. The driver would begin
    # none before a SELECT, so that two of them could read different states.
    options = {"isolation_level": None, "timeout": _BUSY_SECONDS}
    engine = create_engine(url, hide_parameters=True, connect_args=options, **pool)
    path = Path(url.database or "")
    event.listen(engine, "do_connect", partial(_connect_read_only, path))
    event.listen(engine, "checkin", partial(_close_passing, path))
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _connect_read_only(path: Path, *_: object) -> sqlite3.Connection | None:
    """A connection to a database that cannot be written; None leaves connecting to the driver."""
    if read_only.is_read_only(path):
        return read_only.connect(path, _BUSY_SECONDS)
    return read_only.connect_full(path, _BUSY_SECONDS) if read_only.is_full(path) else None


def _close_passing(path: Path, connection: object, record: ConnectionPoolEntry) -> None:
    if read_only.is_passing(connection, path):
        record.invalidate()


def _make_folder(url: URL) -> None:
    folder = Path(url.database or "").parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise unavailable(url, f"{folder} is a file, and no folder") from error
    except OSError as error:
        raise unavailable(url, error) from error


def _set_pragmas(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        _retrying(partial(cursor.execute, f"PRAGMA {pragma}"))
    cursor.close()


def _retrying(execute: Callable[[], object]) -> None:
    """Retry while SQLite is busy: it does not wait itself where several processes switch a new file to WAL at once."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            execute()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_SECONDS)


def _begin(connection: Connection) -> None:
    statement = connection.get_execution_options().get(_BEGIN)
    if statement is not None:
        connection.exec_driver_sql(statement)
