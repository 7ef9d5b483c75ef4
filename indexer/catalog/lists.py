"""Handing a database a long list as ONE parameter, in JSON.

One parameter per value would run into SQLite's limit on their number, and PostgreSQL plans long lists of them
as a scan of the whole table (measured: 75 s instead of 6 s to replace 100,000 documents).
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import JSON, ColumnElement, Connection, FunctionElement, Select, column, func, literal, select

_ELEMENTS: Mapping[str, Callable[..., FunctionElement[Any]]] = MappingProxyType(
    {"sqlite": func.json_each, "postgresql": func.json_array_elements}
)


def listed(connection: Connection, values: Iterable[str]) -> Select[tuple[str]]:
    """A subquery that yields the values."""
    # Sorted, so that the database walks its index instead of jumping about in it.
    element = _element(connection, [[value] for value in sorted(values)])
    return select(element[0].as_string())


def listed_numbers(connection: Connection, values: Iterable[int]) -> Select[tuple[int]]:
    """As :func:`listed`, for whole numbers."""
    element = _element(connection, [[value] for value in sorted(values)])
    return select(element[0].as_integer())


def tabled(connection: Connection, rows: Iterable[tuple[str, int, str]]) -> tuple[ColumnElement[Any], ...]:
    """The three columns of a table that has these rows, for use in a SELECT."""
    element = _element(connection, list(rows))
    return element[0].as_string(), element[1].as_integer(), element[2].as_string()


def _element(connection: Connection, rows: list[Any]) -> ColumnElement[Any]:
    elements = _ELEMENTS[connection.dialect.name]
    # Both databases call the column of such a function so.
    return elements(literal(rows, JSON)).table_valued(column("value", JSON)).c["value"]
