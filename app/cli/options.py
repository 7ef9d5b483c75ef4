"""Options that several commands share: the ranking, stemming and metadata filters."""

import json
from typing import Annotated, TypeAlias

import typer

from app.search.types import Boundaries, Ranking
from indexer.engine.query import Filter
from models.text.stemming import Language
from models.types import JsonValue

RankingOption: TypeAlias = Annotated[
    Ranking, typer.Option(help="Rank spans by their span score, or by the cosine alone.")
]
StemmingOption: TypeAlias = Annotated[
    Language | None, typer.Option(help="Modes lexical and hybrid: compare words by their stems in this language.")
]
BoundariesOption: TypeAlias = Annotated[
    Boundaries, typer.Option(help="Any span, or whole clauses, sentences or parts of any length.")
]
MinUnitsOption: TypeAlias = Annotated[int | None, typer.Option(min=1, help="The fewest units of a hit.")]
MaxUnitsOption: TypeAlias = Annotated[int | None, typer.Option(min=1, help="The most units of a hit.")]
WhereOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--where", help="Document metadata, KEY=VALUE; VALUE is JSON, or else a string."),
]
WherePartOption: TypeAlias = Annotated[list[str] | None, typer.Option("--where-part", help="Part metadata, KEY=VALUE.")]


def filter_of(where: list[str] | None, where_part: list[str] | None) -> Filter:
    """The filter of ``--where`` and ``--where-part`` together.

    >>> filter_of(["week=7", "lang=en"], None)
    Filter(document={'week': 7, 'lang': 'en'}, part={})
    """
    return Filter(key_values(where), key_values(where_part))


def key_values(pairs: list[str] | None) -> dict[str, JsonValue]:
    """The values of ``KEY=VALUE``, which are JSON or else strings."""
    values: dict[str, JsonValue] = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"{pair!r} is not KEY=VALUE")
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
    return values
