"""Mode ``best_span``: one vector per query, compared with spans of any length by cosine, length and borders."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float

from app.answers import described, optional
from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.answers import TextSpan
from app.search.mode import Accepts, BatchQuery, Countable, Mode, Presented, Total
from app.search.reading import check_span_choice, query_vector
from app.search.span_queries import SpanQuery, TokenizedQuery, terms_of, vectors_of
from indexer.arrays import EXCLUDED, LONGEST, SpanTerms
from indexer.engine.exhaustive_count import SpanCounts
from indexer.engine.multi_query import QueryBatch, SpansOverFloor
from indexer.engine.named_spans import NamedSpan, named_cosines
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.snapshot import Snapshot
from indexer.engine.whole_spans import WholeSpanCounts, WholeSpans, best_span_within
from indexer.types import Recipe
from models.encoders.base import encode_query_tokens, query_tokens
from models.ops.span_score import COSINE, SpanScore
from models.text import units
from models.text.borders import count_sentences
from models.types import QueryVectors


@dataclass(frozen=True, slots=True)
class UnitContribution:
    """The contribution of one unit to the cosine of its span."""

    start: int
    end: int
    text: str
    contribution: float


@dataclass(frozen=True, slots=True)
class PartAround:
    """The part around a whole clause or sentence."""

    cosine: float
    share: Annotated[
        float, described("How much its cosine counts beside the terms of the whole span and its best span.")
    ]


@dataclass(frozen=True, slots=True)
class SpanWithin:
    """The best span within a whole clause, sentence or part."""

    start: int
    end: int
    text: str
    span_score: float
    share: Annotated[float, described("How much its span score counts beside the score of the whole span.")]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The terms of the hit's span score, and the units' contributions to its cosine.

    Their sum is `2 * raw - 1`. For a whole span the sum counts for what the shares of its best span and its part leave.
    """

    cosine: Annotated[float, described("The contributions of the units add up to it.")]
    units: tuple[UnitContribution, ...]
    length: Annotated[float, described("The discount of a span that is shorter than the query; 0 or less.")] = 0.0
    borders: Annotated[
        float,
        described("What the span's start and end lack of borders, and what a sentence end inside costs; 0 or less."),
    ] = 0.0
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0
    best_span: Annotated[
        SpanWithin | None, described("Of whole clauses, sentences and parts: the span that says it best.")
    ] = None
    part: Annotated[PartAround | None, optional("Of whole clauses and sentences: the part around, if it counts.")] = (
        None
    )

    def lines(self) -> Iterator[str]:
        """The terms of the score, and the contributions of the units."""
        terms = ("cosine", self.cosine), ("length", self.length), ("borders", self.borders)
        exact = [("exact", self.exact)] if self.exact else []
        part = [("part", self.part.cosine)] if self.part else []
        yield "  ".join(f"{name} {value:+.3f}" for name, value in (*terms, *exact, *part))
        yield "  ".join(f"{unit.text} {unit.contribution:+.3f}" for unit in self.units)


def explained(request: SearchRequest, query: SpanQuery, scored: ScoredSpan) -> Explanation:
    """The terms of the score, and the contribution of every unit to the cosine.

    That is its dot product with the query, over the norm of the span's sum.
    """
    place = scored.place
    vectors = place.unit_vectors().astype(np.float64)
    contributions = vectors @ query.vector / np.linalg.norm(vectors.sum(axis=0))
    units = (TextSpan.at(place, span, request.offset_unit) for span in place.unit_spans())
    contributed = (
        UnitContribution(unit.start, unit.end, unit.text, contribution)
        for unit, contribution in zip(units, contributions.tolist(), strict=True)
    )
    terms, (before, after) = terms_of([query]), place.borders
    length = float(query.score.lengths(np.array([query.units]), len(vectors))[0, -1])
    borders = float(terms.start[before] + terms.end[after])
    cosine = float(contributions.sum())
    if request.spans.boundary and not scored.exact:
        best = _span_within(request, query, scored)
        around = _part_around(request, query, scored, 1 - (best.share if best else 0.0))
        return Explanation(cosine, tuple(contributed), length, borders, best_span=best, part=around)
    if place.holds_sentence_end and not request.spans.boundary:
        borders += float(terms.crossing[0])
    if scored.exact:
        return Explanation(cosine, tuple(contributed), length, borders, scored.cosine - cosine - length - borders)
    return Explanation(scored.cosine - length - borders, tuple(contributed), length, borders)


def _part_around(request: SearchRequest, query: SpanQuery, whole: ScoredSpan, left: float) -> PartAround | None:
    """The part around a whole span, where it counts; ``left`` is the share of both."""
    share = left * query.score.share_of_context(request.spans.boundary or "part")
    if not share:
        return None
    total = whole.place.part_vectors().astype(np.float64).sum(axis=0)
    return PartAround(float(total @ query.vector / np.linalg.norm(total)), share)


def _span_within(request: SearchRequest, query: SpanQuery, whole: ScoredSpan) -> SpanWithin | None:
    """The best span of a whole span, where it counts."""
    share, place = 1 - query.score.share(request.spans.boundary or "part"), whole.place
    within = best_span_within(place, query.vector, terms_of([query])) if share else None
    if within is None:
        return None
    span, score = within
    best = TextSpan.at(place, span, request.offset_unit)
    return SpanWithin(best.start, best.end, best.text, score, share)


class SpanHits(Presented[SpanQuery]):
    """Spans, explained by their units."""

    is_on_scale = True
    explanation = Explanation

    def explain(self, request: SearchRequest, query: SpanQuery, span: ScoredSpan, total: Total) -> Explanation:
        """The terms of the span's score."""
        return explained(request, query, span)


class BestSpan(Mode[TokenizedQuery | SpanQuery, SpanQuery]):
    """Spans by the cosine of their mean unit vector with the query's vector, their length and their borders."""

    name = "best_span"
    accepts = Accepts(vector=True, query_units=True, ranking=True)
    presented = SpanHits()

    def __init__(self, encoders: Encoders) -> None:
        self._encoders = encoders

    @property
    def countable(self) -> "SpanCounting":
        """The counts and cosines of spans."""
        return SpanCounting(self)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the encoder and its span score."""
        return self._encoders.span_score(recipe.encoder, recipe.fingerprint).fingerprint_of(recipe.fingerprint)

    def load(self, recipe: Recipe) -> None:
        """Load the collection's encoder, and what restores its texts if they are not stored."""
        self._encoders.warm_up(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> TokenizedQuery | SpanQuery:
        """Tokenize a text that fits into one window, or normalize a vector."""
        check_span_choice(request.spans, recipe.bounds)
        score = self.score_of(request, recipe)
        if request.text is None:
            return SpanQuery(query_vector(request, recipe.dim), request.query_units or 0, 1, score)
        (tokens,) = query_tokens(self._encoders.matching(recipe), [request.text], recipe.text)
        spans = units.split(request.text, recipe.text)
        return TokenizedQuery(tokens.ids, len(spans), count_sentences(request.text, spans, recipe.text), score)

    def score_of(self, request: SearchRequest, recipe: Recipe) -> SpanScore:
        """The score that ranks the spans of a request."""
        if request.ranking == "cosine":
            return COSINE
        return self._encoders.span_score(recipe.encoder, recipe.fingerprint)

    def encode(self, queries: Sequence[TokenizedQuery | SpanQuery], recipe: Recipe) -> list[SpanQuery]:
        """The vector of every query; all texts share a forward pass."""
        ids = [query.ids for query in queries if isinstance(query, TokenizedQuery)]
        vectors = iter(encode_query_tokens(self._encoders.matching(recipe), ids) if ids else ())
        return [query.encoded(next(vectors)) if isinstance(query, TokenizedQuery) else query for query in queries]

    def segment_query(self, snapshot: Snapshot, queries: Sequence[SpanQuery], selection: Selection) -> BatchQuery:
        """The best spans for every query, by the same score, from one pass over memory; or whole spans."""
        vectors = vectors_of(queries)
        if selection.boundary:
            return WholeSpans(vectors, queries[0].score, np.array([query.units for query in queries]))
        return SpanScan(vectors, _terms(queries, selection), least=_least(selection))


class SpanCounting(Countable[SpanQuery]):
    """The counts and cosines of spans."""

    def __init__(self, mode: BestSpan) -> None:
        super().__init__(mode)
        self._spans = mode

    def score_fingerprint(self, request: SearchRequest, recipe: Recipe) -> str:
        """The same, or the encoder's alone for requests that rank by cosine."""
        return self._spans.score_of(request, recipe).fingerprint_of(recipe.fingerprint)

    def span_query(self, query: SpanQuery) -> SpanQuery:
        """The query itself."""
        return query

    def exhaustive_query(self, snapshot: Snapshot, queries: Sequence[SpanQuery], selection: Selection) -> BatchQuery:
        """The spans over the floor: a segment is read once for the whole batch, and nothing else is computed."""
        if selection.boundary or selection.floor is None:
            return self._spans.segment_query(snapshot, queries, selection)
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
