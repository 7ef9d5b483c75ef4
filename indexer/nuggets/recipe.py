"""The details of nuggets in a collection's recipe."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from indexer.types import Recipe

NAME = "nuggets"


@dataclass(frozen=True, slots=True)
class NuggetRecipe:
    """Nuggets of a collection: of every window of n tokens, ceil(n * ratio) vectors are kept.

    >>> NuggetRecipe("nugget.v1-5c2b", 384, 1.5)
    Traceback (most recent call last):
    ValueError: a nugget ratio must lie in (0, 1], not 1.5
    """

    fingerprint: str
    dim: int
    ratio: float

    def __post_init__(self) -> None:
        if not 0 < self.ratio <= 1:
            raise ValueError(f"a nugget ratio must lie in (0, 1], not {self.ratio:g}")


def with_nuggets(recipe: Recipe, nuggets: NuggetRecipe) -> Recipe:
    """Return the same recipe with nuggets beside the units.

    >>> with_nuggets(Recipe("slice", "f1", 384), NuggetRecipe("n1", 384, 0.1)).representations
    ('units', 'nuggets')
    """
    return replace(recipe, details={**recipe.details, NAME: asdict(nuggets)})


def nugget_recipe(recipe: Recipe) -> NuggetRecipe | None:
    """Return how the nuggets of a recipe are made; None where it has none."""
    details: Any = recipe.details.get(NAME)
    return None if details is None else NuggetRecipe(**details)
