"""Dataclasses made of other objects by the names of their fields."""

from dataclasses import fields
from typing import TypeVar

Made = TypeVar("Made")


def converted(source: object, kind: type[Made], /, **others: object) -> Made:
    """A dataclass of the source's attributes that are named as its fields, and of others.

    >>> from models.types import CharSpan, UnitSpan
    >>> converted(CharSpan(3, 7), UnitSpan, end=5)
    UnitSpan(start=3, end=5)
    """
    names = (each.name for each in fields(kind) if each.name not in others)  # type: ignore[arg-type]
    return kind(**{name: getattr(source, name) for name in names if hasattr(source, name)}, **others)
