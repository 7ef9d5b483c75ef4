"""Errors of the database as errors with a code and a hint."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL
from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from indexer.catalog import read_only
from indexer.catalog.urls import printable
from indexer.disk import storage_full
from indexer.errors import CatalogNotInitialised, CatalogReadOnly, CatalogUnavailable
from models.errors import SpanseekError

INIT_HINT = "Run `spanseek init-db`; it makes the tables, or brings them up to date."
_UNDEFINED = {"42P01", "42703"}  # PostgreSQL: undefined table, undefined column
_DISK_FULL, _READ_ONLY = "53100", "25006"  # PostgreSQL
# A write that a quota or a limit on file sizes refuses is an error of input and output to SQLite.
_SQLITE_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Turn errors of a database that does not answer, has no room or lacks tables into errors with a hint.

    All others, such as violated constraints, are programming errors and pass unchanged.
    """
    try:
        yield
    except PoolTimeout as error:
        raise unavailable(url, "all its connections are in use") from error
    except DBAPIError as error:
        meaning = _meaning(error, url)
        if meaning is None:
            raise
        raise meaning from error


def unavailable(url: URL, reason: object) -> CatalogUnavailable:
    """The error for a database that does not answer."""
    return CatalogUnavailable(
        f"The catalog at {printable(url)} does not answer: {reason}",
        hint="Check that the database is up and that the catalog URL names it.",
    )


def _meaning(error: DBAPIError, url: URL) -> SpanseekError | None:
    if _is_undefined(error):
        return CatalogNotInitialised(
            f"The tables of the catalog at {printable(url)} are missing or outdated", hint=INIT_HINT
        )
    reason = str(error.orig).partition("\n")[0]
    if _is_full(error):
        return storage_full(f"the catalog at {printable(url)}", reason)
    if _is_read_only(error):
        if url.get_backend_name() == "sqlite" and read_only.is_full(Path(url.database or "")):
            return storage_full(f"the catalog at {printable(url)}", reason)
        return CatalogReadOnly(
            f"The catalog at {printable(url)} can be read, and not written",
            hint="Search it, or make it and its folder writable for this process.",
        )
    return unavailable(url, reason) if _is_outage(error) else None


def _is_undefined(error: DBAPIError) -> bool:
    # SQLite has no codes for this: it is an OperationalError, like an unreadable disk.
    in_sqlite = str(error.orig).startswith(("no such table", "no such column"))
    return in_sqlite or getattr(error.orig, "sqlstate", None) in _UNDEFINED


def _is_full(error: DBAPIError) -> bool:
    in_sqlite = getattr(error.orig, "sqlite_errorcode", None) in _SQLITE_FULL
    return in_sqlite or getattr(error.orig, "sqlstate", None) == _DISK_FULL


def _is_read_only(error: DBAPIError) -> bool:
    # The lower byte of SQLite's codes is the kind of error, the others say more.
    in_sqlite = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY
    return in_sqlite or getattr(error.orig, "sqlstate", None) == _READ_ONLY


def _is_outage(error: DBAPIError) -> bool:
    # SQLite raises the bare DatabaseError for a file that is damaged or no database.
    return isinstance(error, OperationalError | InterfaceError | InternalError) or type(error) is DatabaseError
