"""Words in a collection's recipe."""

from dataclasses import replace
from typing import Final

from indexer.types import Details, Recipe

NAME: Final = "words"
# Changes with the folding of words.
DETAILS: Final[Details] = {"fingerprint": "words.v1"}


def with_words(recipe: Recipe) -> Recipe:
    """The same recipe with words beside the units.

    >>> with_words(Recipe("slice", "f1", 384)).representations
    ('units', 'words')
    """
    return replace(recipe, details={**recipe.details, NAME: DETAILS})


def has_words(recipe: Recipe) -> bool:
    """True if the collection stores words.

    >>> has_words(Recipe("slice", "f1", 384))
    False
    """
    return NAME in recipe.details
