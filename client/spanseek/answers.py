"""Conversion of API answers to objects."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter

Kind = TypeVar("Kind")


class Answer(BaseModel):
    """The base of all answers. Fields of a later server are kept, and can be read as attributes."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True, protected_namespaces=())


def read(kind: type[Kind], body: bytes) -> Kind:
    """Parse a JSON body as an answer of one kind.

    >>> read(dict[str, float], b'{"took_ms": 1.5}')
    {'took_ms': 1.5}
    """
    value: Kind = _adapter(kind).validate_json(body)
    return value


# Made once for each kind of answer, when the first one arrives.
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)
