"""Parameters and column types: long lists as one parameter in JSON, and timestamps in UTC.

One parameter per value would exceed SQLite's limit on their number, and PostgreSQL plans long lists of them as a scan
of the whole table (measured: 75 s instead of 6 s to replace 100,000 documents).
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeAlias

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    FunctionElement,
    Select,
    String,
    column,
    exists,
    func,
    literal,
    select,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

_ELEMENTS: Mapping[str, Callable[..., FunctionElement[Any]]] = MappingProxyType(
    {"sqlite": func.json_each, "postgresql": func.json_array_elements}
)


def listed(connection: Connection, values: Iterable[str]) -> Select[tuple[str]]:
    """A subquery that yields the values."""
    # Sorted, so that the database reads its index in order.
    element = _element(connection, [[value] for value in sorted(values)])
    return select(element[0].as_string())


def listed_numbers(connection: Connection, values: Iterable[int]) -> Select[tuple[int]]:
    """As :func:`listed`, for whole numbers."""
    element = _element(connection, [[value] for value in sorted(values)])
    return select(element[0].as_integer())


def tabled(connection: Connection, rows: Iterable[tuple[str, int, str]]) -> tuple[ColumnElement[Any], ...]:
    """The three columns of a table of these rows, for use in a SELECT."""
    element = _element(connection, list(rows))
    return element[0].as_string(), element[1].as_integer(), element[2].as_string()


def holds_any(connection: Connection, column: ColumnElement[Any], values: Iterable[str]) -> ColumnElement[bool]:
    """The condition that a column, a list of strings in JSON, has one of the values."""
    texts: dict[str, Callable[..., FunctionElement[Any]]]
    texts = {"sqlite": func.json_each, "postgresql": func.json_array_elements_text}
    held = texts[connection.dialect.name](column).table_valued("value").c["value"]
    return exists(select(held).where(held.in_(listed(connection, values))))


def _element(connection: Connection, rows: list[Any]) -> ColumnElement[Any]:
    elements = _ELEMENTS[connection.dialect.name]
    # The column's name in both databases.
    return elements(literal(rows, JSON)).table_valued(column("value", JSON)).c["value"]


Clock: TypeAlias = Callable[[], datetime]


def utc_now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """A timestamp with time zone. SQLite has none: values are stored and read there as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC. Raises ``ValueError`` for a naive value."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC. SQLite returns values without a zone, PostgreSQL in the session's zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def by_bytes(length: int) -> TypeEngine[str]:
    """Text in the order of its code points, whatever the database's locale."""
    return String(length).with_variant(String(length, collation="C"), "postgresql")


def id_type() -> TypeEngine[str]:
    """A uuid, a ULID or a hash in text form."""
    return by_bytes(64)
