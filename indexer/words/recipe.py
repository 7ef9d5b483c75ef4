"""Words in a collection's recipe, and in the forward pass of an indexing job."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Int32

from indexer.types import Details, Recipe
from models.encoders.passes import ForwardPass, WindowOutputs

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


class WordPass:
    """A forward pass whose job also stores words. They follow from texts: nothing is added to the network's work."""

    def __init__(self, base: ForwardPass) -> None:
        self._base = base
        self.details: Mapping[str, Details] = {**base.details, NAME: DETAILS}

    def forward(self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]) -> Iterator[list[WindowOutputs]]:
        """The outputs of the pass without words."""
        return self._base.forward(batches)
