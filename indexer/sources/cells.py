"""Types of a table's columns: a column has a type if all of its cells have it."""

import re
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Final

from models.types import JsonValue

# A leading zero is part of a code, not of a number; integers up to 15 digits are exact in every reader of JSON.
_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", re.ASCII)
_DECIMAL_COMMA: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:,\d+)?", re.ASCII)
_BOOLEAN: Final = re.compile(r"true|false", re.ASCII | re.IGNORECASE)

_PATTERNS: Final = {"integer": _INTEGER, "number": _NUMBER, "decimal comma": _DECIMAL_COMMA, "boolean": _BOOLEAN}
_CONVERT: Final[dict[str, Callable[[str], JsonValue]]] = {
    "integer": int,
    "number": float,
    "decimal comma": lambda cell: float(cell.replace(",", ".")),
    "boolean": lambda cell: cell.lower() == "true",
    "text": str,
}


class ColumnType:
    """The type of a column whose cells are seen one after the other; empty cells do not count.

    A comma is a decimal sign only where another sign separates the cells.

    >>> column = ColumnType(";")
    >>> for cell in ("3", "", "2,50"):
    ...     column.see(cell)
    >>> column.name, column.value("2,50")
    ('decimal comma', 2.5)
    """

    def __init__(self, delimiter: str) -> None:
        self._left = ["integer", "number", *(["decimal comma"] if delimiter == ";" else []), "boolean"]
        self._is_empty = True

    def see(self, cell: str) -> None:
        """Rule out the types that a cell does not have."""
        if cell:
            self._is_empty = False
            if self._left:
                self._left = [name for name in self._left if _is_of(name, cell)]

    @property
    def name(self) -> str:
        """The narrowest type of all cells seen, ``text`` if none fits."""
        return "text" if self._is_empty or not self._left else self._left[0]

    @property
    def is_numeric(self) -> bool:
        """True if the cells are numbers."""
        return self.name in ("integer", "number", "decimal comma")

    def value(self, cell: str) -> JsonValue:
        """The value of a cell."""
        return _CONVERT[self.name](cell)


def _is_of(name: str, cell: str) -> bool:
    if _PATTERNS[name].fullmatch(cell) is None:
        return False
    return name in ("integer", "boolean") or _is_exact(cell.replace(",", "."))


def _is_exact(cell: str) -> bool:
    """True for a decimal number that a float keeps as it was written: 2.50, and not 0.1234567890123456789."""
    number = float(cell)
    return isfinite(number) and Decimal(repr(number)) == Decimal(cell)
