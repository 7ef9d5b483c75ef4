"""Values of tables as JSON has them."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic_core import PydanticSerializationError, to_json

from spanseek.errors import SpanseekError


def plain(value: Any) -> Any:  # noqa: ANN401  whatever a table holds
    """A value that JSON can hold, or that pydantic writes as JSON: of an array its list, of a number of numpy its own.

    >>> import numpy
    >>> plain(numpy.float32(0.5)), plain(numpy.arange(2))
    (0.5, [0, 1])
    """
    for name in ("tolist", "to_pylist", "isoformat"):
        if hasattr(value, name):
            return getattr(value, name)()
    return str(value)


def json_of(value: object, nan: Literal["null", "constants"] = "constants") -> bytes:
    """A value as JSON. Raises ``SpanseekError`` for one that no JSON holds, such as half of a surrogate pair.

    >>> json_of({"seconds": float("nan")}, nan="null")
    b'{"seconds":null}'
    """
    try:
        return to_json(value, fallback=plain, inf_nan_mode=nan)
    except PydanticSerializationError as error:
        raise SpanseekError(f"A value cannot be sent: {error}.") from error


def is_missing(value: object) -> bool:
    """True if a cell is empty: None, NaN, or what pandas has in their place.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def filled(row: Mapping[str, object]) -> dict[str, object]:
    """A row without its empty cells."""
    return {name: value for name, value in row.items() if not is_missing(value)}
