"""Restorable vectors in a collection's recipe, and in the forward pass of an indexing job."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from jaxtyping import Int32

from indexer.types import Details, Recipe
from models.encoders.passes import ForwardPass, WindowOutputs
from models.encoders.restorable.base import Restorer

NAME: Final = "restorable"


def restorable_details(restorer: Restorer, *, store_text: bool) -> Details:
    """The details of a restorer's vectors. ``store_text`` says whether texts are stored beside them."""
    return {
        "fingerprint": restorer.fingerprint,
        "dim": restorer.dim,
        "compared": restorer.compared,
        "store_text": store_text,
    }


def with_restorable(recipe: Recipe, restorer: Restorer, *, store_text: bool = True) -> Recipe:
    """The same recipe with restorable vectors of sentences beside the units, and with texts or without."""
    return replace(recipe, details={**recipe.details, NAME: restorable_details(restorer, store_text=store_text)})


def has_restorable(recipe: Recipe) -> bool:
    """True if the collection stores restorable vectors.

    >>> has_restorable(Recipe("slice", "f1", 384))
    False
    """
    return NAME in recipe.details


def restorable_fingerprint(recipe: Recipe) -> str:
    """The fingerprint of the restorer of a collection that has restorable vectors."""
    details: Any = recipe.details[NAME]
    return str(details["fingerprint"])


class RestorablePass:
    """A forward pass whose job also stores restorable vectors. They follow from texts: it hands on their restorer."""

    def __init__(self, base: ForwardPass, restorer: Restorer, *, store_text: bool = True) -> None:
        self._base, self._restorer = base, restorer
        own = restorable_details(restorer, store_text=store_text)
        self.details: Mapping[str, Details] = {**base.details, NAME: own}

    def forward(self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]) -> Iterator[list[WindowOutputs]]:
        """The outputs of the pass without restorable vectors, and the restorer."""
        for outputs in self._base.forward(batches):
            yield [WindowOutputs(output.vectors, {**output.others, NAME: self._restorer}) for output in outputs]
