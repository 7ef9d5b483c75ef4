"""The facets that come with Spanseek, or the operator's own, loaded at first use."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from models.artifacts import SHIPPED
from models.encoders.base import Encoder
from models.encoders.facets.model import FacetModel, load_facets
from models.encoders.facets.word_vectors import WordVectors, load_word_vectors
from models.encoders.registry import load_encoder
from models.errors import BackboneMissing


class Facets:
    """Word vectors and the facets of sentences and phrases, from the folders of trained weights.

    Raises ``BackboneMissing`` where the folder lacks them. ``load`` gives the encoders by which facets read.
    """

    def __init__(self, folder: Path | None = None, load: Callable[[str], Encoder] = load_encoder) -> None:
        self._folder, self._load = folder or SHIPPED, load

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
