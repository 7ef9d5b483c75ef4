"""From what a database driver raises to what a user can act on."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DatabaseError, DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from indexer.catalog.database_urls import printable
from indexer.errors import CatalogNotInitialised, CatalogUnavailable
from models.errors import SpanseekError

INIT_HINT = "Run `spanseek init-db`; it makes the tables, or brings them up to date."
_UNDEFINED = {"42P01", "42703"}  # PostgreSQL: undefined table, undefined column


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """A database that does not answer, or has no tables, becomes an error with a hint.

    Everything else (a broken constraint, wrong SQL) is a bug of ours and stays as it is.
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
    if _is_outage(error):
        return unavailable(url, str(error.orig).partition("\n")[0])
    return None


def _is_undefined(error: DBAPIError) -> bool:
    # SQLite has no codes for this and calls it operational, as it does an unreadable disk.
    in_sqlite = str(error.orig).startswith(("no such table", "no such column"))
    return in_sqlite or getattr(error.orig, "sqlstate", None) in _UNDEFINED


def _is_outage(error: DBAPIError) -> bool:
    # The bare DatabaseError is what SQLite raises for a file that is no database, or a damaged one.
    return isinstance(error, OperationalError | InterfaceError | InternalError) or type(error) is DatabaseError
