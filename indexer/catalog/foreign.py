"""The rows of a catalog that anybody may have written, such as that of a snapshot.

Its file is only read, and nothing of its schema is used: views, triggers, virtual tables and generated columns can
yield rows without end. Its rows are copied into new tables of this Spanseek, whose constraints they must satisfy. They
hold no more than their file does; pages that refer to each other in circles hold more.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from indexer.catalog.database import Database
from indexer.catalog.schema import upgrade
from indexer.errors import CatalogNotInitialised, CatalogUnavailable

_ROWS_AT_ONCE: Final = 5_000
_LONGEST_VALUE: Final = 2**28
_VERSION: Final = re.compile(r"\d{4}")


def copy_foreign(source: Path, target: Path) -> str:
    """Copy the rows of a SQLite file into a new one, upgraded to the newest tables; return its URL.

    Raises ``ValueError``, with the reason, for what no Spanseek wrote.
    """
    url = f"sqlite:///{target}"
    try:
        with closing(_opened(source)) as foreign, closing(Database(url)) as own:
            upgrade(url, _version(foreign))
            with own.write() as writing:
                _copy(foreign, writing, source.stat().st_size)
        upgrade(url)
    except (CatalogNotInitialised, CatalogUnavailable) as error:
        raise ValueError("its catalog cannot be read, or is of a later version of Spanseek") from error
    except IntegrityError as error:
        raise ValueError(f"its rows occur twice, or refer to rows that are not there: {_reason(error)}") from error
    except (sqlite3.Error, SQLAlchemyError) as error:
        raise ValueError(f"its catalog is damaged: {_reason(error)}") from error
    except (TypeError, LookupError, AttributeError, RecursionError) as error:  # a migration met rows that are none
        raise ValueError(f"its catalog cannot be upgraded: {error}") from error
    return url


def foreign_rows(path: Path, table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table of such a copy, as SQLite stores them."""
    with closing(_opened(path)) as connection:
        rows = connection.execute(f"SELECT * FROM {_quoted(table)}")  # noqa: S608  our own name
        names = [column[0] for column in rows.description]
        for row in rows:
            yield dict(zip(names, row, strict=True))


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?immutable=1", uri=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def _version(foreign: sqlite3.Connection) -> str:
    _check_table(foreign, "alembic_version", ["version_num"])
    versions = [version for (version,) in foreign.execute("SELECT version_num FROM alembic_version LIMIT 2")]
    if len(versions) != 1 or not isinstance(versions[0], str) or not _VERSION.fullmatch(versions[0]):
        raise ValueError("its catalog has no version")
    return versions[0]


def _copy(foreign: sqlite3.Connection, own: Connection, most: int) -> None:
    names = own.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").scalars().all()
    own.exec_driver_sql("PRAGMA defer_foreign_keys=ON")
    left = most
    for name in names:
        if name != "alembic_version" and not name.startswith("sqlite_"):
            left = _copy_table(foreign, own, name, left)


def _copy_table(foreign: sqlite3.Connection, own: Connection, name: str, left: int) -> int:
    """Copy the rows of a table; returns the bytes that are left to further ones."""
    columns = [row[1] for row in own.exec_driver_sql(f"PRAGMA table_info({_quoted(name)})")]
    _check_table(foreign, name, columns)
    listed, places = ", ".join(map(_quoted, columns)), ", ".join("?" for _ in columns)
    rows = foreign.execute(f"SELECT {listed} FROM {_quoted(name)} NOT INDEXED")  # noqa: S608  our own names
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        left -= sum(map(_size, some))
        if left < 0:
            raise ValueError("its catalog yields more rows than its file holds")
        own.exec_driver_sql(f"INSERT INTO {_quoted(name)} ({listed}) VALUES ({places})", some)  # noqa: S608
    return left


def _check_table(foreign: sqlite3.Connection, name: str, columns: list[str]) -> None:
    """Raise ``ValueError`` unless this is a plain table that stores these columns."""
    kinds = foreign.execute("SELECT type, rootpage FROM sqlite_master WHERE lower(name) = ?", [name]).fetchall()
    is_table = len(kinds) == 1 and kinds[0][0] == "table" and bool(kinds[0][1])
    stored = {row[1] for row in foreign.execute("SELECT * FROM pragma_table_xinfo(?)", [name]) if not row[6]}
    if not is_table or not stored.issuperset(columns):
        raise ValueError(f"its catalog has no table {name!r} of Spanseek's")


def _size(row: tuple[Any, ...]) -> int:
    """A lower bound on the bytes of a row in its file."""
    return sum(1 + (len(value) if isinstance(value, str | bytes) else 0) for value in row)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _reason(error: Exception) -> str:
    return str(getattr(error, "orig", error)).partition("\n")[0]
