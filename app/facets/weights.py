"""The facets that come with Spanseek, or the operator's own, loaded at first use."""

from functools import cached_property
from pathlib import Path

from models.checksums import SHIPPED
from models.encoders.facets.model import FacetModel, load_facets
from models.word_vectors import WordVectors, load_word_vectors


class Facets:
    """Word vectors and the facets of sentences and phrases, from the folders of trained weights."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or SHIPPED

    @cached_property
    def words(self) -> WordVectors:
        """The space of words in which facets are points."""
        return load_word_vectors(self._folder / "facets-words")

    @cached_property
    def sentences(self) -> FacetModel:
        """Ten facets for a sentence."""
        return load_facets(self._folder / "facets-k10", self.words)

    @cached_property
    def phrases(self) -> FacetModel:
        """One facet for a phrase."""
        return load_facets(self._folder / "facets-phrases", self.words)
