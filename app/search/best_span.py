"""Mode ``best_span``: one vector per query, compared with spans of any length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Float32, Int32

from app.search.encoders import Encoders
from app.search.modes import Counts, Resources, ScoredRows, SearchMode
from app.search.query_vectors import query_vector
from app.search.span_hits import present_spans
from app.search.types import Explanation, Hit, Mode, SearchRequest, UnitContribution
from indexer.engine.base import Engine, ScoredSpan
from indexer.engine.exhaustive_count import count_spans
from indexer.engine.named_spans import NamedSpan, named_cosines
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import Snapshot
from indexer.tuning import Tuning
from indexer.types import Recipe
from models.encoders.base import encode_query_tokens, query_tokens

QueryVector: TypeAlias = Float32[np.ndarray, " dim"]


@dataclass(frozen=True, slots=True)
class TokenizedQuery:
    """The token ids of a query text."""

    ids: Int32[np.ndarray, " tokens"]


class BestSpan(SearchMode[TokenizedQuery | QueryVector, QueryVector, ScoredSpan]):
    """Spans by the cosine of their mean unit vector with the query's vector."""

    name: Mode = "best_span"

    def __init__(self, encoders: Encoders, engine: Engine) -> None:
        self._encoders = encoders
        self._engine = engine

    def load(self, recipe: Recipe) -> None:
        """Load the collection's encoder."""
        self._encoders.warm_up(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> TokenizedQuery | QueryVector:
        """Tokenize a text that fits into one window, or normalize a vector."""
        if request.text is None:
            return query_vector(request, recipe.dim)
        (ids,) = query_tokens(self._encoders.matching(recipe), [request.text])
        return TokenizedQuery(ids)

    def encode(self, queries: Sequence[TokenizedQuery | QueryVector], recipe: Recipe) -> list[QueryVector]:
        """The vector of every query; all texts share a forward pass."""
        tokenized = [query.ids for query in queries if isinstance(query, TokenizedQuery)]
        vectors = iter(encode_query_tokens(self._encoders.matching(recipe), tokenized) if tokenized else ())
        return [next(vectors) if isinstance(query, TokenizedQuery) else query for query in queries]

    def search(
        self, snapshot: Snapshot, queries: Sequence[QueryVector], selection: Selection
    ) -> list[list[ScoredSpan]]:
        """The best spans for every query, from one pass over memory."""
        return self._engine.search(snapshot, np.stack(queries), selection)

    def count(self, snapshot: Snapshot, query: QueryVector, floor: float | None, filter: Filter) -> Counts:
        """The best span of every document, and the spans above the floor."""
        census = count_spans(snapshot, query, floor, filter)
        spans = None if census.spans is None else ScoredRows(census.spans, census.span)
        return Counts(ScoredRows(census.documents, census.document), spans)

    def present(
        self, request: SearchRequest, query: QueryVector, results: list[ScoredSpan], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits, explained by the units' contributions if the request asks for it."""
        return present_spans(request, results, tuning, lambda scored: _explanation(request, query, scored))

    def text_cosines(self, queries: Sequence[QueryVector], texts: Sequence[QueryVector]) -> Float[np.ndarray, " pairs"]:
        """The cosine of two query vectors."""
        return np.array([query.astype(np.float64) @ text for query, text in zip(queries, texts, strict=True)])

    def span_cosines(self, queries: Sequence[QueryVector], spans: Sequence[NamedSpan]) -> Float[np.ndarray, " spans"]:
        """The cosine that a search computes for the span."""
        return named_cosines(spans, np.stack(queries))


def create(resources: Resources) -> SearchMode[TokenizedQuery | QueryVector, QueryVector, ScoredSpan]:
    """The mode."""
    return BestSpan(resources.encoders, resources.engine)


def _explanation(request: SearchRequest, query: QueryVector, scored: ScoredSpan) -> Explanation:
    """The contribution of every unit to the cosine: its dot product with the query, over the norm of the span's sum."""
    place = scored.place
    vectors = place.unit_vectors().astype(np.float64)
    contributions = vectors @ query / np.linalg.norm(vectors.sum(axis=0))
    units = (
        UnitContribution(
            place.offset(unit.start, request.offset_unit),
            place.offset(unit.end, request.offset_unit),
            place.text(unit),
            float(contribution),
        )
        for unit, contribution in zip(place.unit_spans(), contributions, strict=True)
    )
    return Explanation(scored.cosine, tuple(units))
