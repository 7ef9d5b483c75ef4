"""Conversion of API answers to objects."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from spanseek.errors import SpanseekError

Kind = TypeVar("Kind")


class Answer(BaseModel):
    """The base of all answers. Fields of a later server are kept, and can be read as attributes."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True, protected_namespaces=())


def read(kind: type[Kind], body: bytes | str) -> Kind:
    """Parse a JSON body as an answer of one kind. Raises ``SpanseekError`` for one that Spanseek does not give.

    >>> read(dict[str, float], b'{"took_ms": 1.5}')
    {'took_ms': 1.5}
    """
    try:
        value: Kind = _adapter(kind).validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the answer"
        raise SpanseekError(
            f"This is no answer of a Spanseek server of this version ({place}: {first['msg']}). Check the address."
        ) from error
    return value


# Made once for each kind of answer, when the first one arrives.
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)
