"""The facets that come with Spanseek, or the operator's own, loaded at first use."""

from functools import cached_property
from pathlib import Path
from typing import Any, Final

from indexer.errors import RecipeMismatch
from indexer.types import Details, Recipe
from models.encoders.registry import Models
from models.errors import BackboneMissing
from spanseek_facets.model import FacetModel, load_facets
from spanseek_facets.settings import SHIPPED
from spanseek_facets.word_vectors import WordVectors, load_word_vectors

NAME: Final = "facets"


class Facets:
    """Word vectors and the facets of sentences and phrases, from the folders of trained weights.

    Raises ``BackboneMissing`` where the folder lacks them.
    """

    def __init__(self, models: Models) -> None:
        self._folder, self._load = models.options.plugin_weights.get("facet_weights", SHIPPED), models.load

    @cached_property
    def words(self) -> WordVectors:
        """The space of words in which facets are points."""
        return load_word_vectors(self._existing("facets-words"))

    @cached_property
    def sentences(self) -> FacetModel:
        """Ten facets for a sentence."""
        return self._facets("facets-k10")

    @cached_property
    def phrases(self) -> FacetModel:
        """One facet for a phrase."""
        return self._facets("facets-phrases")

    def matching(self, recipe: Recipe) -> FacetModel:
        """The facets of a collection that has some. Raises ``RecipeMismatch`` if their weights have changed since."""
        stored, loaded = fingerprint(recipe), facet_details(self.sentences)["fingerprint"]
        if stored != loaded:
            raise RecipeMismatch(
                f"The collection's facets are of {stored}; this server has {loaded}.",
                hint="Run `spanseek reindex` once, or serve with the facets it was indexed with.",
                field="collection",
            )
        return self.sentences

    def _facets(self, name: str) -> FacetModel:
        return load_facets(self._existing(name), self.words, self._load)

    def _existing(self, name: str) -> Path:
        folder = self._folder / name
        if not folder.is_dir():
            raise BackboneMissing(
                f"There are no weights of facets in {folder}.",
                hint="Check SPANSEEK_FACET_WEIGHTS: its folder holds facets-words, facets-k10 and facets-phrases.",
            )
        return folder


def facet_details(model: FacetModel) -> Details:
    """The details of a model's facets; the fingerprint changes with the weights and with the files."""
    return {"fingerprint": f"facets.v1-{model.sha256[:12]}", "facets": model.shape.facets, "dim": model.shape.dim}


def fingerprint(recipe: Recipe) -> str:
    """The fingerprint of the facets of a collection that has some."""
    details: Any = recipe.details[NAME]
    return str(details["fingerprint"])
