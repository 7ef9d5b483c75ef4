"""URLs of the catalog's database: checked, and printed without passwords."""

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from models.errors import InvalidInput

_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_HINT = "Use sqlite:////path/to/catalog.db or postgresql://user:password@host/database."


def parsed(url: str) -> URL:
    """The URL with the driver that Spanseek uses.

    >>> parsed("postgresql://ann:secret@db/spanseek").drivername
    'postgresql+psycopg'
    """
    result = _parsed(url)
    if result.drivername not in _DRIVERS:
        raise _refused(f"The catalog cannot be stored in {result.drivername!r}")
    if result.drivername.startswith("sqlite") and result.database in (None, "", ":memory:"):
        raise _refused("The catalog cannot be stored in memory: it must outlive the process")
    return result.set(drivername=_DRIVERS[result.drivername])


def printable(url: URL) -> str:
    """The URL without its password, for messages.

    >>> printable(parsed("postgresql://ann:secret@db/spanseek"))
    'postgresql+psycopg://ann:***@db/spanseek'
    """
    if "password" in url.query:
        url = url.update_query_dict({"password": "hidden"})
    return url.render_as_string(hide_password=True)


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        # Neither chained nor quoted: the URL may hold a password.
        raise _refused("The catalog URL cannot be understood") from None


def _refused(message: str) -> InvalidInput:
    return InvalidInput(message, hint=_HINT, field="catalog_url")
