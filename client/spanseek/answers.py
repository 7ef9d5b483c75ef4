"""How an answer of the API becomes an object."""

from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter

Kind = TypeVar("Kind")


class Answer(BaseModel):
    """The base of all answers. Fields of a later server are kept, and can be read as attributes."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True, protected_namespaces=())


def read(kind: type[Kind], body: bytes) -> Kind:
    """The answer that a body of JSON is."""
    value: Kind = _adapter(kind).validate_json(body)
    return value


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
