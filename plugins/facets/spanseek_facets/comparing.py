"""Compares two texts: their similarity in every mode, their facets, and which is more general."""

from collections.abc import Iterator
from typing import Self

import numpy as np

from app.answers import ItemError
from app.encoders.default_calibrations import default_tuning
from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search import literal
from app.search.mode import AnyMode, Modes, is_available
from app.search.reading import read_request
from app.search.service import SearchService
from app.services import Services
from indexer.representations.registry import with_all
from indexer.store import Store
from indexer.tuning import Tuning
from indexer.types import Recipe
from models.errors import InvalidInput, SpanseekError
from models.ops.similarity import raws
from spanseek_facets.answers import (
    CompareAnswer,
    CompareRequest,
    Direction,
    Facet,
    FacetComparison,
    ModeSimilarity,
    Side,
)
from spanseek_facets.directions import generality
from spanseek_facets.scores import codebook_distance
from spanseek_facets.shipped import Facets

_WORDS_OF_A_FACET = 3
# A smaller difference says nothing: the coefficients are found to about so much.
_NO_DIFFERENCE = 1e-6


class CompareService:
    """Compares texts with the encoders, modes and calibrations of searches."""

    def __init__(self, store: Store, encoders: Encoders, modes: Modes, default_encoder: str) -> None:
        self._store = store
        self._encoders = encoders
        self._modes = modes
        self._facets = encoders.shared(Facets)
        self._default_encoder = default_encoder

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        modes = services.get(SearchService).modes
        return cls(services.store, services.encoders, modes, services.settings.encoder)

    def compare(self, request: CompareRequest) -> CompareAnswer:
        """Compare two texts. Raises ``CollectionNotFound``, and ``InvalidInput`` for a text without words."""
        for field, text in (("first", request.first), ("second", request.second)):
            if not text.strip():
                raise InvalidInput("The text is empty.", hint="Give at least one word.", field=field)
        recipe = self._recipe(request)
        available = (mode for mode in self._modes.values() if is_available(mode, recipe))
        similarities = tuple(self._similarity(mode, request, recipe) for mode in available)
        return CompareAnswer(similarities, self._facets_of(request), self._direction(request))

    def _recipe(self, request: CompareRequest) -> Recipe:
        if request.collection is not None:
            return self._store.catalog.collection(request.collection).recipe
        encoder = self._encoders.load(self._default_encoder)
        return with_all(Recipe(self._default_encoder, encoder.fingerprint, encoder.dim), self._encoders)

    def _similarity(self, mode: AnyMode, request: CompareRequest, recipe: Recipe) -> ModeSimilarity:
        try:
            texts = [
                SearchRequest(request.collection or "", text=text, mode=mode.name)
                for text in (request.first, request.second)
            ]
            query, text = mode.encode([read_request(mode, each, recipe) for each in texts], recipe)
            first, second = (literal.terms_of(mode, each, recipe) for each in texts)
            raw = raws(literal.text_cosines(mode, [query], [text], [(first, second)]))
        except SpanseekError as error:
            return ModeSimilarity(mode.name, error=ItemError.of(error))
        tuning = self._tuning(mode, request, recipe)
        return ModeSimilarity(mode.name, round(float(raw[0]), 6), round(float(tuning.scores(raw)[0]), 6))

    def _tuning(self, mode: AnyMode, request: CompareRequest, recipe: Recipe) -> Tuning:
        if request.collection is not None:
            return self._store.tunings.present(request.collection, mode.name).made_for(mode.fingerprint(recipe))
        return default_tuning(self._encoders, recipe) if mode.name == "best_span" else Tuning()

    def _facets_of(self, request: CompareRequest) -> FacetComparison | None:
        if not self._knows(request):
            return None
        first, second = self._facets.sentences.encode([request.first, request.second])
        distance = float(codebook_distance(first, second))
        return FacetComparison(round(distance, 6), tuple(self._named(first)), tuple(self._named(second)))

    def _knows(self, request: CompareRequest) -> bool:
        """True if the word vectors have a word of either text."""
        return all(len(self._facets.words.text_ids(text)) for text in (request.first, request.second))

    def _named(self, codebook: np.ndarray) -> Iterator[Facet]:
        for nearest in self._facets.words.nearest(codebook, _WORDS_OF_A_FACET):
            yield Facet(tuple(word for word, _ in nearest))

    def _direction(self, request: CompareRequest) -> Direction | None:
        if not self._knows(request):
            return None
        difference = float(generality(self._facets.phrases, [request.first], [request.second])[0])
        return Direction(_more_general(difference), round(difference, 6))


def _more_general(difference: float) -> Side | None:
    if abs(difference) < _NO_DIFFERENCE:
        return None
    return "first" if difference > 0 else "second"
