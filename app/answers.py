"""Answers as JSON, the same for HTTP and the command line.

An answer is a dataclass. Its annotations describe it in the OpenAPI document and say how it is serialized; nothing
validates it, because it was just computed.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field, TypeAdapter
from pydantic.fields import FieldInfo

from models.errors import SpanseekError
from models.text.checks import printable
from models.types import SpanBounds

Extended = TypeVar("Extended")


def described(description: str) -> FieldInfo:
    """The annotation of a field with a description.

    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> @dataclass(frozen=True)
    ... class Answer:
    ...     rank: Annotated[int, described("1 is the best.")]
    ...     note: Annotated[str | None, optional("Why.")] = None
    >>> to_json(Answer(1)), json_values(Answer(1, "audit"))
    (b'{"rank":1}', {'rank': 1, 'note': 'audit'})
    """
    annotation: FieldInfo = Field(description=description)
    return annotation


def optional(description: str) -> FieldInfo:
    """The annotation of a field that is left out where it is None."""
    annotation: FieldInfo = Field(description=description, exclude_if=_is_none)
    return annotation


def deprecated(description: str) -> FieldInfo:
    """The annotation of a field that is kept for one version."""
    annotation: FieldInfo = Field(description=f"Deprecated. {description}", deprecated=True)
    return annotation


def extended(
    more: Mapping[str, Any],
    *,
    after: str,
    default: Any = MISSING,  # noqa: ANN401
) -> Callable[[type[Extended]], type[Extended]]:
    """A decorator of classes that become dataclasses: fields that others declare, behind the field ``after``.

    >>> @dataclass
    ... @extended({"colour": str}, after="name")
    ... class Ball:
    ...     name: str
    ...     size: int
    >>> Ball("a", "red", 3)
    Ball(name='a', colour='red', size=3)
    """

    def extend(kind: type[Extended]) -> type[Extended]:
        own = list(kind.__annotations__.items())
        behind = 1 + [name for name, _ in own].index(after)
        kind.__annotations__ = dict([*own[:behind], *more.items(), *own[behind:]])
        for name in more if default is not MISSING else ():
            setattr(kind, name, default)
        return kind

    return extend


@dataclass(frozen=True, slots=True)
class ItemError:
    """The error of one item."""

    code: Annotated[str, described("A stable error code.")]
    detail: str

    @classmethod
    def of(cls, error: SpanseekError) -> "ItemError":
        """An error as a part of an answer."""
        return cls(error.code, printable(str(error)))


@dataclass(frozen=True, slots=True)
class SpanUnits:
    """The bounds of a span's length in units, both included."""

    shortest: int
    longest: int

    @classmethod
    def of(cls, bounds: SpanBounds) -> "SpanUnits":
        """The bounds of spans as an answer."""
        return cls(bounds.shortest, bounds.longest)


def to_json(answer: object) -> bytes:
    """An answer in JSON, as HTTP sends it. NaN and infinities become null, since JSON has no such numbers."""
    return _adapter(cast("Hashable", type(answer))).dump_json(answer, by_alias=True)


def json_values(answer: object) -> dict[str, Any]:
    """An answer as JSON values, for the command line."""
    values: dict[str, Any] = _adapter(cast("Hashable", type(answer))).dump_python(answer, mode="json", by_alias=True)
    return values


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _is_none(value: object) -> bool:
    return value is None
