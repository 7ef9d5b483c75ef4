"""Representations by name. An entry point of the group enrols one in the contract tests."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from indexer.errors import RecipeMismatch
from indexer.representations.base import Representation, Wanted
from indexer.types import Recipe
from models.encoders.registry import Models
from models.entry_points import EXTRAS, entry_points_of

GROUP: Final = "spanseek.representations"


@cache
def representations() -> Mapping[str, Representation[Any]]:
    """All representations, by name."""
    return {name: point.load()() for name, point in entry_points_of(GROUP).items()}


def representation(name: str) -> Representation[Any]:
    """The representation of this name. Raises ``RecipeMismatch`` where it is not installed.

    >>> representation("nuggets").name
    'nuggets'
    """
    if name not in representations():
        raise RecipeMismatch(
            f"The collection stores {name}, which this installation does not know.",
            hint=_where(name),
            field="collection",
        )
    return representations()[name]


def _where(name: str) -> str:
    """How to install a representation."""
    if name in EXTRAS[GROUP]:
        return f"Run `pip install 'spanseek[{EXTRAS[GROUP][name]}]'`."
    return f"Install the distribution that provides the representation {name}."


def with_all(recipe: Recipe, models: Models) -> Recipe:
    """A recipe of units with every representation, as its options are by default."""
    found = representations().items()
    details = {name: each.details(Wanted(each.options(), recipe.encoder), models) for name, each in found}
    return replace(recipe, details=details)
