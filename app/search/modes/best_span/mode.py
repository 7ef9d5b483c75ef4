"""Mode ``best_span`` in the steps of a search."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.mode import Accepts, BatchQuery, SearchMode, Total
from app.search.modes.best_span.explanation import Explanation, explained
from app.search.modes.best_span.queries import SpanQuery, TokenizedQuery, terms_of, vectors_of
from app.search.query_vectors import query_vector
from app.search.span_choice import check_span_choice
from indexer.arrays import EXCLUDED, LONGEST, SpanTerms
from indexer.engine.exhaustive_count import SpanCounts
from indexer.engine.multi_query import QueryBatch, SpansOverFloor
from indexer.engine.named_spans import NamedSpan, named_cosines
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.snapshot import Snapshot
from indexer.engine.whole_spans import WholeSpanCounts, WholeSpans
from indexer.types import Recipe
from models.encoders.base import encode_query_tokens, query_tokens
from models.ops.span_score import COSINE, SpanScore
from models.text import units
from models.text.borders import count_sentences
from models.types import QueryVectors


class BestSpan(SearchMode[TokenizedQuery | SpanQuery, SpanQuery]):
    """Spans by the cosine of their mean unit vector with the query's vector, their length and their borders."""

    name = "best_span"
    is_on_scale = True
    accepts = Accepts(vector=True, query_units=True, ranking=True)
    explanation = Explanation

    def __init__(self, encoders: Encoders) -> None:
        self._encoders = encoders

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the encoder and its span score."""
        return self._encoders.span_score(recipe.encoder, recipe.fingerprint).fingerprint_of(recipe.fingerprint)

    def score_fingerprint(self, request: SearchRequest, recipe: Recipe) -> str:
        """The same, or the encoder's alone for requests that rank by cosine."""
        return self._score(request, recipe).fingerprint_of(recipe.fingerprint)

    def load(self, recipe: Recipe) -> None:
        """Load the collection's encoder, and what restores its texts if they are not stored."""
        self._encoders.warm_up(recipe)
        if not recipe.stores_text:
            self._encoders.texts(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> TokenizedQuery | SpanQuery:
        """Tokenize a text that fits into one window, or normalize a vector."""
        check_span_choice(request.spans, recipe.bounds)
        score = self._score(request, recipe)
        if request.text is None:
            return SpanQuery(query_vector(request, recipe.dim), request.query_units or 0, 1, score)
        (tokens,) = query_tokens(self._encoders.matching(recipe), [request.text], recipe.text)
        spans = units.split(request.text, recipe.text)
        return TokenizedQuery(tokens.ids, len(spans), count_sentences(request.text, spans, recipe.text), score)

    def _score(self, request: SearchRequest, recipe: Recipe) -> SpanScore:
        if request.ranking == "cosine":
            return COSINE
        return self._encoders.span_score(recipe.encoder, recipe.fingerprint)

    def encode(self, queries: Sequence[TokenizedQuery | SpanQuery], recipe: Recipe) -> list[SpanQuery]:
        """The vector of every query; all texts share a forward pass."""
        ids = [query.ids for query in queries if isinstance(query, TokenizedQuery)]
        vectors = iter(encode_query_tokens(self._encoders.matching(recipe), ids) if ids else ())
        return [query.encoded(next(vectors)) if isinstance(query, TokenizedQuery) else query for query in queries]

    def span_query(self, query: SpanQuery) -> SpanQuery:
        """The query itself."""
        return query

    def segment_query(self, snapshot: Snapshot, queries: Sequence[SpanQuery], selection: Selection) -> BatchQuery:
        """The best spans for every query, by the same score, from one pass over memory; or whole spans."""
        vectors = vectors_of(queries)
        if selection.boundary:
            return WholeSpans(vectors, queries[0].score, np.array([query.units for query in queries]))
        return SpanScan(vectors, _terms(queries, selection), least=_least(selection))

    def exhaustive_query(self, snapshot: Snapshot, queries: Sequence[SpanQuery], selection: Selection) -> BatchQuery:
        """The spans over the floor: a segment is read once for the whole batch, and nothing else is computed."""
        if selection.boundary or selection.floor is None:
            return self.segment_query(snapshot, queries, selection)
        batch = QueryBatch(vectors_of(queries), _terms(queries, selection))
        return SpansOverFloor(batch, max(_least(selection), selection.floor))

    def text_vectors(self, queries: Sequence[SpanQuery]) -> QueryVectors:
        """The vectors that the spans are compared with."""
        return vectors_of(queries)

    def counting_query(
        self, snapshot: Snapshot, query: SpanQuery, floor: float | None, selection: Selection
    ) -> BatchQuery:
        """The best span of every document, and the spans above the floor; of whole sentences all."""
        if selection.boundary:
            return WholeSpanCounts(query.vector, query.score, query.units)
        least = None if floor is None else max(_least(selection), floor)
        return SpanCounts(query.vector, least, _terms([query], selection))

    def readable(self, spans: list[ScoredSpan]) -> list[ScoredSpan]:
        """The same spans; of a collection that does not store texts, at places that restore them."""
        return self._encoders.readable(spans)

    def explain(self, request: SearchRequest, query: SpanQuery, span: ScoredSpan, total: Total) -> Explanation:
        """The terms of the span's score."""
        return explained(request, query, span)

    def text_cosines(self, queries: Sequence[SpanQuery], texts: Sequence[SpanQuery]) -> Float[np.ndarray, " pairs"]:
        """The score of a whole text: the cosine of two query vectors, and the terms of its length and its borders."""
        return np.array([_text_score(query, text) for query, text in zip(queries, texts, strict=True)])

    def span_cosines(
        self, snapshot: Snapshot, queries: Sequence[SpanQuery], spans: Sequence[NamedSpan]
    ) -> Float[np.ndarray, " spans"]:
        """The score that a search computes for the span."""
        return named_cosines(spans, vectors_of(queries), terms_of(queries))


def _terms(queries: Sequence[SpanQuery], selection: Selection) -> SpanTerms:
    """The terms of queries, which exclude spans of lengths that are not selected."""
    terms = terms_of(queries)
    return terms.within(selection.lengths.contain(np.arange(LONGEST + 1))) if selection.lengths else terms


def _least(selection: Selection) -> float:
    """The least score of a span that these terms do not exclude."""
    return EXCLUDED if selection.lengths else -np.inf


def _text_score(query: SpanQuery, text: SpanQuery) -> float:
    return float(query.vector.astype(np.float64) @ text.vector) + query.score.of_texts(query.units, text.units)
