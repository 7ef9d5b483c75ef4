"""Facets in a collection's recipe, and in the forward pass of an indexing job."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Int32

from indexer.types import Details, Recipe
from models.encoders.facets.model import FacetModel
from models.encoders.passes import ForwardPass, WindowOutputs

NAME: Final = "facets"


def facet_details(model: FacetModel) -> Details:
    """The details of a model's facets; the fingerprint changes with the weights and with the files."""
    return {"fingerprint": f"facets.v1-{model.sha256[:12]}", "facets": model.shape.facets, "dim": model.shape.dim}


def with_facets(recipe: Recipe, model: FacetModel) -> Recipe:
    """The same recipe with the facets of sentences beside the units."""
    return replace(recipe, details={**recipe.details, NAME: facet_details(model)})


def has_facets(recipe: Recipe) -> bool:
    """True if the collection stores facets.

    >>> has_facets(Recipe("slice", "f1", 384))
    False
    """
    return NAME in recipe.details


class FacetPass:
    """A forward pass whose job also stores facets. They follow from texts: the pass only hands on their model."""

    def __init__(self, base: ForwardPass, model: FacetModel) -> None:
        self._base, self._model = base, model
        self.details: Mapping[str, Details] = {**base.details, NAME: facet_details(model)}

    def forward(self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]) -> Iterator[list[WindowOutputs]]:
        """The outputs of the pass without facets, and the model."""
        for outputs in self._base.forward(batches):
            yield [WindowOutputs(output.vectors, {**output.others, NAME: self._model}) for output in outputs]
