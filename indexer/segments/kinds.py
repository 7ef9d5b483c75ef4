"""The kinds of values of metadata."""

from math import inf
from typing import Literal, TypeAlias

from models.types import JsonValue

Kind = Literal["null", "boolean", "number", "string", "date", "list", "object"]
Level = Literal["document", "part", "id"]
# The keys that lead to a value, through the objects that are values of others.
Path: TypeAlias = tuple[str, ...]


def kind_of(value: JsonValue) -> Kind:
    """The kind of a value; a date is a string.

    >>> [kind_of(value) for value in (None, True, 1, "2025-01-01", [1])]
    ['null', 'boolean', 'number', 'string', 'list']
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "list" if isinstance(value, list) else "object"


def is_number(value: object) -> bool:
    """True for numbers of JSON, of which true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def double(number: JsonValue) -> float:
    """A number in double precision; infinite if it is too large.

    >>> double(3), double(-(10**400))
    (3.0, -inf)
    """
    try:
        return float(number)  # type: ignore[arg-type]
    except OverflowError:
        return inf if number > 0 else -inf  # type: ignore[operator]
