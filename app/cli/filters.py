"""Metadata filters, as options give them."""

import json
from typing import Annotated, TypeAlias

import typer

from indexer.engine.query import Filter
from models.types import JsonValue

WhereOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--where", help="Document metadata, KEY=VALUE; VALUE is JSON, or else a string."),
]
WherePartOption: TypeAlias = Annotated[list[str] | None, typer.Option("--where-part", help="Part metadata, KEY=VALUE.")]


def filter_of(where: list[str] | None, where_part: list[str] | None) -> Filter:
    """The filter that ``--where`` and ``--where-part`` mean together.

    >>> filter_of(["week=7", "lang=en"], None)
    Filter(document={'week': 7, 'lang': 'en'}, part={})
    """
    return Filter(_key_values(where), _key_values(where_part))


def _key_values(pairs: list[str] | None) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"{pair!r} is not KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
