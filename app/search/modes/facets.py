"""Mode ``facets``: sentences by what is likely to stand near them (ADR 25)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from app.encoders.encoders import Encoders
from app.requests import Mode, SearchRequest
from app.search.mode import Counts, Resources, Scored, SearchMode
from app.search.sentences import ALL, counts_of
from app.search.span_hits import present_spans
from app.search.types import FacetExplanation, FacetWords, Hit
from indexer.engine.base import ScoredSpan
from indexer.engine.named_spans import NamedSpan
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.facets.recipe import NAME, has_facets
from indexer.facets.representation import stored_facets
from indexer.facets.scan import cosines_of, count_spans, facet_cosines, search_facets
from indexer.tuning import Tuning
from indexer.types import Recipe
from indexer.words.literal import EXACT, Terms, literal_spans
from indexer.words.recipe import has_words
from models.encoders.facets.model import FacetModel
from models.errors import InvalidInput
from models.ops.facets import codebook_distance
from models.text.folding import words

_WORDS_OF_A_FACET = 3


@dataclass(frozen=True, slots=True)
class FacetQuery:
    """A text, its folded words if sentences that hold them rank first, and its facets once it is encoded.

    ``codebook`` is None for a text without words that the word vectors have.
    """

    text: str
    terms: Terms
    codebook: Float32[np.ndarray, "facets dim"] | None = None


class FacetMode(SearchMode[FacetQuery, FacetQuery, ScoredSpan]):
    """Sentences by the similarity SC of their facets to those of the query."""

    name: Mode = "facets"
    requirement = "Run `spanseek reindex --facets` once, which adds the facets of its sentences."

    def __init__(self, encoders: Encoders) -> None:
        self._encoders = encoders

    def available(self, recipe: Recipe) -> bool:
        """True if the collection has facets."""
        return has_facets(recipe)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the facets."""
        details: Any = recipe.details[NAME]
        return str(details["fingerprint"])

    def load(self, recipe: Recipe) -> None:
        """Load the facets' weights."""
        self._model(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> FacetQuery:
        """Check a request. Vectors of the encoder have no facets; hits are sentences."""
        if request.text is None:
            raise InvalidInput(
                "Mode facets predicts words from words, which a vector does not have.",
                hint="Give a text, or search in mode best_span.",
                field="vector",
            )
        if not request.text.strip():
            raise InvalidInput("The query holds no words.", hint="Give at least one word.", field="text")
        if request.spans.boundary not in (None, "sentence"):
            raise InvalidInput(
                f"Hits of mode facets are sentences, not whole {request.spans.boundary}s.",
                hint="Leave boundaries out, or search in mode best_span.",
                field="spans",
            )
        if request.query_units is not None:
            raise InvalidInput(
                "The units of a text are counted, and cannot be given.",
                hint="Leave query_units out.",
                field="query_units",
            )
        is_literal = has_words(recipe) and request.ranking != "cosine"
        return FacetQuery(request.text, words(request.text) if is_literal else ())

    def encode(self, queries: Sequence[FacetQuery], recipe: Recipe) -> list[FacetQuery]:
        """The facets of every query that has a word of the word vectors."""
        model = self._model(recipe)
        return [
            replace(query, codebook=model.encode([query.text])[0]) if len(model.words.text_ids(query.text)) else query
            for query in queries
        ]

    def search(self, snapshot: Snapshot, queries: Sequence[FacetQuery], selection: Selection) -> list[list[ScoredSpan]]:
        """The best sentences for every query."""
        return [search_facets(snapshot, query.codebook, query.terms, selection) for query in queries]

    def count(self, snapshot: Snapshot, query: FacetQuery, floor: float | None, selection: Selection) -> Counts:
        """The best sentence of every document, and the sentences above the floor."""
        return counts_of(count_spans(snapshot, query.codebook, query.terms, selection), floor)

    def present(
        self, request: SearchRequest, query: FacetQuery, results: list[ScoredSpan], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits, explained by the words nearest to the facets of both sides if the request asks for it."""
        hits = present_spans(request, results, tuning, lambda scored: self._explanation(query, scored))
        return tuple(
            replace(hit, match="exact" if self.is_exact(query, scored) else None)
            for hit, scored in zip(hits, results, strict=True)
        )

    def is_exact(self, query: FacetQuery, scored: Scored) -> bool:
        """True for a sentence that holds the query's own words in their order."""
        return bool(query.terms) and scored.cosine == EXACT

    def text_cosines(self, queries: Sequence[FacetQuery], texts: Sequence[FacetQuery]) -> Float[np.ndarray, " pairs"]:
        """The score of every query with a text of its own, -1 where a text has no facets."""
        return np.array([_text_cosine(*pair) for pair in zip(queries, texts, strict=True)], np.float64)

    def span_cosines(self, queries: Sequence[FacetQuery], spans: Sequence[NamedSpan]) -> Float[np.ndarray, " spans"]:
        """The score of the best sentence that the span lies in or touches."""
        return np.array([_span_cosine(queries[span.query], span) for span in spans], np.float64)

    def _model(self, recipe: Recipe) -> FacetModel:
        return self._encoders.facet_model(recipe)

    def _explanation(self, query: FacetQuery, scored: ScoredSpan) -> FacetExplanation:
        stored, unit = stored_facets(scored.place.segment), scored.place.segment_units.start
        rows = np.flatnonzero(stored.units == unit)
        if query.codebook is None or not len(rows):
            return FacetExplanation(-1.0, (), (), scored.cosine + 1)
        cosine = float(facet_cosines(query.codebook, stored, rows)[0])
        of_hit = stored.vectors(rows)[0]
        return FacetExplanation(cosine, self._named(query.codebook), self._named(of_hit), scored.cosine - cosine)

    def _named(self, codebook: Float32[np.ndarray, "facets dim"]) -> tuple[FacetWords, ...]:
        nearest = self._encoders.facets.words.nearest(codebook, _WORDS_OF_A_FACET)
        return tuple(FacetWords(tuple(word for word, _ in of_facet)) for of_facet in nearest)


def create(resources: Resources) -> SearchMode[FacetQuery, FacetQuery, ScoredSpan]:
    """The mode."""
    return FacetMode(resources.encoders)


def _text_cosine(query: FacetQuery, text: FacetQuery) -> float:
    size = len(query.terms)
    starts = range(len(text.terms) - size + 1) if size else ()
    if any(text.terms[start : start + size] == query.terms for start in starts):
        return EXACT
    if query.codebook is None or text.codebook is None:
        return -1.0
    distance = codebook_distance(query.codebook, text.codebook)
    return float(cosines_of(distance[None], len(query.codebook))[0])


def _span_cosine(query: FacetQuery, span: NamedSpan) -> float:
    view = span.located.view
    bounds = view.segment.wholes["sentence"]
    first = int(bounds[np.searchsorted(bounds, span.units.start, side="right") - 1])
    literal = literal_spans(view, query.terms, Selection(ALL, boundary="sentence"))
    if ((literal.starts < span.units.end) & (literal.starts >= first)).any():
        return EXACT
    stored = stored_facets(view.segment)
    rows = np.flatnonzero((stored.units >= first) & (stored.units < span.units.end))
    if query.codebook is None or not len(rows):
        return -1.0
    return float(facet_cosines(query.codebook, stored, rows).max())
