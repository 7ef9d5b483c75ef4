"""Mode ``best_span``: one vector per query, compared with spans of any length."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, TypeAlias

import numpy as np
from jaxtyping import Float, Float32, Int32

from app.encoders.encoders import Encoders
from app.requests import Mode, SearchRequest, SpanChoice
from app.search.mode import Counts, Resources, Scored, ScoredRows, SearchMode
from app.search.query_vectors import query_vector
from app.search.sentences import counts_of
from app.search.span_hits import present_spans
from app.search.types import Explanation, Hit, PartAround, SpanWithin, UnitContribution
from app.search.weighting import QueryWeights
from indexer.arrays import EXCLUDED, LONGEST, SpanTerms
from indexer.engine.base import Engine, ScoredSpan
from indexer.engine.exhaustive_count import SpanCount, count_spans
from indexer.engine.named_spans import NamedSpan, named_cosines
from indexer.engine.query import Selection
from indexer.engine.selection import ExactSpans
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.engine.wholes import best_span_within, score_wholes, search_wholes, selected_wholes
from indexer.tuning import Tuning
from indexer.types import Recipe
from indexer.words.literal import (
    BELOW,
    EXACT,
    below,
    count_with_floor,
    is_occurrence,
    search_with_floor,
    wholes_with_floor,
)
from indexer.words.recipe import has_words
from models.encoders.base import Encoder, encode_query_tokens, query_tokens
from models.errors import InvalidInput
from models.ops.span_score import COSINE, SpanScore
from models.text import units
from models.text.borders import count_sentences
from models.text.folding import words
from models.text.tokens import Tokens
from models.types import QueryVectors, SpanBounds

QueryVector: TypeAlias = Float32[np.ndarray, " dim"]


@dataclass(frozen=True, slots=True)
class SpanQuery:
    """A query for spans: its vector, the units of its text, 0 where not known, its sentences, and the score of spans.

    ``terms`` are its folded words if their occurrences rank first.
    """

    vector: QueryVector
    units: int
    sentences: int
    score: SpanScore
    terms: tuple[str, ...] = ()
    weights: QueryWeights | None = None


@dataclass(frozen=True, slots=True)
class TokenizedQuery:
    """The token ids of a query text, its units and sentences, the score of spans, and weights that are not equal."""

    ids: Int32[np.ndarray, " tokens"]
    units: int
    sentences: int
    score: SpanScore
    terms: tuple[str, ...] = ()
    weights: QueryWeights | None = None

    def encoded(self, vector: QueryVector) -> SpanQuery:
        """The query with its vector."""
        return SpanQuery(vector, self.units, self.sentences, self.score, self.terms, self.weights)


class BestSpan(SearchMode[TokenizedQuery | SpanQuery, SpanQuery, ScoredSpan]):
    """Spans by the cosine of their mean unit vector with the query's vector, their length and their borders."""

    name: Mode = "best_span"

    def __init__(self, encoders: Encoders, engine: Engine) -> None:
        self._encoders = encoders
        self._engine = engine

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
            self._encoders.restored_texts(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> TokenizedQuery | SpanQuery:
        """Tokenize a text that fits into one window, or normalize a vector."""
        check_span_choice(request.spans, recipe.bounds)
        score = self._score(request, recipe)
        if request.text is None:
            return SpanQuery(query_vector(request, recipe.dim), request.query_units or 0, 1, score)
        if request.query_units is not None:
            raise InvalidInput(
                "The units of a text are counted, and cannot be given.",
                hint="Leave query_units out, or give a vector.",
                field="query_units",
            )
        (tokens,) = query_tokens(self._encoders.matching(recipe), [request.text])
        is_literal = has_words(recipe) and request.ranking != "cosine"
        terms, spans = words(request.text) if is_literal else (), units.split(request.text)
        sentences, weights = count_sentences(request.text, spans), self._weights(request, tokens)
        return TokenizedQuery(tokens.ids, len(spans), sentences, score, terms, weights)

    def _weights(self, request: SearchRequest, tokens: Tokens) -> QueryWeights | None:
        if request.weighting == "uniform" or request.text is None:
            return None
        return QueryWeights.by_importance(self._encoders.facets.sentences, request.text, tokens)

    def _score(self, request: SearchRequest, recipe: Recipe) -> SpanScore:
        if request.ranking == "cosine":
            return COSINE
        return self._encoders.span_score(recipe.encoder, recipe.fingerprint)

    def encode(self, queries: Sequence[TokenizedQuery | SpanQuery], recipe: Recipe) -> list[SpanQuery]:
        """The vector of every query; all texts share a forward pass."""
        tokenized = [query for query in queries if isinstance(query, TokenizedQuery)]
        vectors = iter(_encoded(self._encoders.matching(recipe), tokenized) if tokenized else ())
        return [query.encoded(next(vectors)) if isinstance(query, TokenizedQuery) else query for query in queries]

    def search(self, snapshot: Snapshot, queries: Sequence[SpanQuery], selection: Selection) -> list[list[ScoredSpan]]:
        """The best spans for every query, by the same score, from one pass over memory; occurrences rank first."""
        if not any(query.terms for query in queries):
            return self._search(snapshot, queries, selection)
        return search_with_floor(
            snapshot,
            [query.terms for query in queries],
            selection,
            lambda numbers, wider: self._search(snapshot, [queries[number] for number in numbers], wider),
        )

    def candidates(
        self, snapshot: Snapshot, queries: Sequence[SpanQuery], selection: Selection
    ) -> list[list[ScoredSpan]]:
        """The best spans for every query by their meaning alone."""
        return self._search(snapshot, queries, selection)

    def _search(self, snapshot: Snapshot, queries: Sequence[SpanQuery], selection: Selection) -> list[list[ScoredSpan]]:
        vectors, terms = _vectors(queries), _terms(queries)
        if selection.boundary:
            units = np.array([query.units for query in queries])
            return search_wholes(snapshot, vectors, selection, queries[0].score, units)
        if selection.lengths:
            terms = terms.within(selection.lengths.contain(np.arange(LONGEST + 1)))
            floor = EXCLUDED if selection.floor is None else max(EXCLUDED, selection.floor)
            selection = replace(selection, floor=floor)
        return self._engine.search(snapshot, vectors, selection, terms)

    def count(self, snapshot: Snapshot, query: SpanQuery, floor: float | None, selection: Selection) -> Counts:
        """The best span of every document, and the spans above the floor; of whole sentences all."""
        if selection.boundary:
            return counts_of([_wholes(view, query, selection) for view in snapshot.views], floor)
        census = _census(snapshot, query, floor, selection)
        if query.terms:
            census = count_with_floor(snapshot, census, query.terms, selection)
        spans = None if census.spans is None else ScoredRows(census.spans, census.span)
        return Counts(ScoredRows(census.documents, census.document), spans)

    def readable(self, results: list[ScoredSpan]) -> list[ScoredSpan]:
        """The same spans; of a collection that does not store texts, at places that restore them."""
        return self._encoders.readable(results)

    def present(
        self, request: SearchRequest, query: SpanQuery, results: list[ScoredSpan], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits, explained by the terms of their scores if the request asks for it."""
        hits = present_spans(request, self.readable(results), tuning, lambda scored: _weighed(request, query, scored))
        pairs = zip(hits, results, strict=True)
        return tuple(replace(hit, match="exact") if _is_exact(query, scored) else hit for hit, scored in pairs)

    def is_exact(self, query: SpanQuery, scored: Scored) -> bool:
        """True for an occurrence of the query's own words."""
        return _is_exact(query, scored)

    def text_cosines(self, queries: Sequence[SpanQuery], texts: Sequence[SpanQuery]) -> Float[np.ndarray, " pairs"]:
        """The score of a whole text: the cosine of two query vectors, and the terms of its length and its borders."""
        return np.array([_text_score(query, text) for query, text in zip(queries, texts, strict=True)])

    def span_cosines(self, queries: Sequence[SpanQuery], spans: Sequence[NamedSpan]) -> Float[np.ndarray, " spans"]:
        """The score that a search computes for the span."""
        scores = named_cosines(spans, _vectors(queries), _terms(queries))
        for row, span in enumerate(spans):
            terms = queries[span.query].terms
            if terms:
                exact = is_occurrence(span.located.view, span.units, terms)
                scores[row] = EXACT if exact else below(scores[row : row + 1])[0]
        return scores


def _encoded(encoder: Encoder, queries: Sequence[TokenizedQuery]) -> QueryVectors:
    weights = [query.weights.of_tokens if query.weights else None for query in queries]
    return encode_query_tokens(encoder, [query.ids for query in queries], weights)


def _census(snapshot: Snapshot, query: SpanQuery, floor: float | None, selection: Selection) -> SpanCount:
    """The counts of spans by their meaning; spans of other lengths do not count."""
    terms = _terms([query])
    if not selection.lengths:
        return count_spans(snapshot, query.vector, floor, selection.filter, terms)
    terms = terms.within(selection.lengths.contain(np.arange(LONGEST + 1)))
    lowest = None if floor is None else max(EXCLUDED, floor)
    census = count_spans(snapshot, query.vector, lowest, selection.filter, terms)
    return replace(census, best=[spans.take(np.flatnonzero(spans.cosines > EXCLUDED)) for spans in census.best])


def _wholes(view: SegmentView, query: SpanQuery, selection: Selection) -> ExactSpans:
    """All selected clauses, sentences or parts of a segment with their scores; those with an occurrence are exact."""
    boundary = selection.boundary or "part"
    starts, ends = selected_wholes(view, selection)
    scores = score_wholes(view, starts, ends, query.vector, query.units, query.score, boundary).scores
    wholes = ExactSpans(view, starts, ends, scores)
    return wholes_with_floor(wholes, query.terms, selection) if query.terms else wholes


def check_span_choice(spans: SpanChoice, bounds: SpanBounds) -> None:
    """Raise ``InvalidInput`` for lengths that the collection's spans do not have; whole spans may have any."""
    usual = bounds.shortest if spans.boundaries == "any" else 1
    shortest = usual if spans.min_units is None else spans.min_units
    longest = max(shortest, bounds.longest) if spans.max_units is None else spans.max_units
    if spans.boundaries == "any" and not bounds.shortest <= shortest <= longest <= bounds.longest:
        _refuse_lengths(f"the spans of this collection have {bounds.shortest} to {bounds.longest} units")
    if not 1 <= shortest <= longest:
        _refuse_lengths("min_units must be at least 1, and at most max_units")


def _refuse_lengths(reason: str) -> NoReturn:
    raise InvalidInput(
        f"These lengths of spans cannot be searched: {reason}.",
        hint="Choose other lengths, or whole clauses, sentences or parts, which may have any.",
        field="spans",
    )


def _vectors(queries: Sequence[SpanQuery]) -> QueryVectors:
    return np.stack([query.vector for query in queries])


def _terms(queries: Sequence[SpanQuery]) -> SpanTerms:
    """The terms of queries that share a score."""
    counts = np.array([(query.units, query.sentences) for query in queries])
    return SpanTerms.of(queries[0].score, counts[:, 0], counts[:, 1])


def create(resources: Resources) -> SearchMode[TokenizedQuery | SpanQuery, SpanQuery, ScoredSpan]:
    """The mode."""
    return BestSpan(resources.encoders, resources.engine)


def _is_exact(query: SpanQuery, scored: Scored) -> bool:
    return bool(query.terms) and scored.cosine == EXACT


def _text_score(query: SpanQuery, text: SpanQuery) -> float:
    score = float(query.vector.astype(np.float64) @ text.vector) + query.score.of_texts(query.units, text.units)
    if not query.terms:
        return score
    return EXACT if query.terms == text.terms else min(score, BELOW)


def _weighed(request: SearchRequest, query: SpanQuery, scored: ScoredSpan) -> Explanation:
    explanation = _explanation(request, query, scored)
    return replace(explanation, query=query.weights.explained(request.offset_unit)) if query.weights else explanation


def _explanation(request: SearchRequest, query: SpanQuery, scored: ScoredSpan) -> Explanation:
    """The terms of the score, and the contribution of every unit to the cosine.

    That is its dot product with the query, over the norm of the span's sum.
    """
    place = scored.place
    vectors = place.unit_vectors().astype(np.float64)
    contributions = vectors @ query.vector / np.linalg.norm(vectors.sum(axis=0))
    contributed = (
        UnitContribution(
            place.offset(unit.start, request.offset_unit),
            place.offset(unit.end, request.offset_unit),
            place.text(unit),
            float(contribution),
        )
        for unit, contribution in zip(place.unit_spans(), contributions, strict=True)
    )
    terms, (before, after) = _terms([query]), place.borders
    length = float(query.score.lengths(np.array([query.units]), len(vectors))[0, -1])
    borders = float(terms.start[before] + terms.end[after])
    cosine = float(contributions.sum())
    if request.spans.boundary and not _is_exact(query, scored):
        best = _span_within(request, query, scored)
        around = _part_around(request, query, scored, 1 - (best.share if best else 0.0))
        return Explanation(cosine, tuple(contributed), length, borders, best_span=best, part=around)
    if place.holds_sentence_end and not request.spans.boundary:
        borders += float(terms.crossing[0])
    if _is_exact(query, scored):
        return Explanation(cosine, tuple(contributed), length, borders, scored.cosine - cosine - length - borders)
    return Explanation(scored.cosine - length - borders, tuple(contributed), length, borders)


def _part_around(request: SearchRequest, query: SpanQuery, whole: ScoredSpan, left: float) -> PartAround | None:
    """The part around a whole, where it counts; ``left`` is the share of the whole and its part."""
    share = left * query.score.share_of_context(request.spans.boundary or "part")
    if not share:
        return None
    total = whole.place.part_vectors().astype(np.float64).sum(axis=0)
    return PartAround(float(total @ query.vector / np.linalg.norm(total)), share)


def _span_within(request: SearchRequest, query: SpanQuery, whole: ScoredSpan) -> SpanWithin | None:
    """The best span of a whole, where it counts."""
    share, place = 1 - query.score.share(request.spans.boundary or "part"), whole.place
    within = best_span_within(place, query.vector, _terms([query])) if share else None
    if within is None:
        return None
    span, score = within
    start, end = (place.offset(at, request.offset_unit) for at in (span.start, span.end))
    return SpanWithin(start, end, place.text(span), score, share)
