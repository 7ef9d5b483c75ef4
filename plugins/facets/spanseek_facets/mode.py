"""Mode ``facets``: sentences by what is likely to stand near them (ADR 25)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from jaxtyping import Float, Float32

from app.answers import described
from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.mode import Accepts, BatchQuery, Countable, Mode, Needs, Presented, Total
from indexer.engine.named_spans import NamedSpan
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.types import Recipe
from indexer.words.literal import Terms, holds
from models.errors import InvalidInput
from spanseek_facets.representation import stored_facets
from spanseek_facets.scan import FacetScan, cosines_of, facet_cosines
from spanseek_facets.scores import codebook_distance
from spanseek_facets.shipped import NAME, Facets, fingerprint
from spanseek_facets.word_vectors import WordVectors

_WORDS_OF_A_FACET = 3


@dataclass(frozen=True, slots=True)
class FacetWords:
    """A facet by the words nearest to it, nearest first."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FacetExplanation:
    """The score of the facets, `1 - SC / K`, and the facets of the query and of the hit."""

    cosine: float
    query: tuple[FacetWords, ...]
    hit: tuple[FacetWords, ...]
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0

    def lines(self) -> Iterator[str]:
        """The facets of both sides."""
        for side, facets in (("query", self.query), ("hit", self.hit)):
            yield f"{side}: " + "; ".join(" ".join(facet.words) for facet in facets)


@dataclass(frozen=True, slots=True)
class FacetQuery:
    """A text, and its facets and the words that they are named by, once it is encoded.

    ``codebook`` is None for a text without words that the word vectors have.
    """

    text: str
    codebook: Float32[np.ndarray, "facets dim"] | None = None
    words: WordVectors | None = None


class FacetHits(Presented[FacetQuery]):
    """Whole sentences, explained by the words nearest to their facets."""

    boundary = "sentence"
    explanation = FacetExplanation

    def explain(self, request: SearchRequest, query: FacetQuery, span: ScoredSpan, total: Total) -> FacetExplanation:
        """The facets of both sides, by the words nearest to them."""
        stored, unit = stored_facets(span.place.segment), span.place.segment_units.start
        rows = np.flatnonzero(stored.units == unit)
        if query.codebook is None or not len(rows):
            return FacetExplanation(-1.0, (), (), span.cosine + 1)
        cosine = float(facet_cosines(query.codebook, stored, rows)[0])
        of_hit = stored.vectors(rows)[0]
        return FacetExplanation(cosine, _named(query, query.codebook), _named(query, of_hit), span.cosine - cosine)


class FacetMode(Mode[FacetQuery, FacetQuery]):
    """Sentences by the similarity SC of their facets to the query's."""

    name = "facets"
    accepts = Accepts(ranking=True, boundaries=("any", "sentence"))
    needs = Needs(NAME, "Run `spanseek reindex --facets` once, which adds the facets of its sentences.")
    presented = FacetHits()

    def __init__(self, encoders: Encoders) -> None:
        self._facets = encoders.shared(Facets)

    @property
    def countable(self) -> "FacetCounting":
        """The counts and scores of sentences."""
        return FacetCounting(self)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the facets."""
        return fingerprint(recipe)

    def load(self, recipe: Recipe) -> None:
        """Load the facets' weights."""
        self._facets.matching(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> FacetQuery:
        """Check a request; hits are sentences."""
        if not (request.text or "").strip():
            raise InvalidInput("The query holds no words.", hint="Give at least one word.", field="text")
        return FacetQuery(request.text or "")

    def encode(self, queries: Sequence[FacetQuery], recipe: Recipe) -> list[FacetQuery]:
        """The facets of every query that has a word of the word vectors."""
        model = self._facets.matching(recipe)
        return [
            replace(query, codebook=model.encode([query.text])[0], words=model.words)
            if len(model.words.text_ids(query.text))
            else query
            for query in queries
        ]

    def segment_query(self, snapshot: Snapshot, queries: Sequence[FacetQuery], selection: Selection) -> BatchQuery:
        """The best sentences for every query."""
        return FacetScan(tuple(query.codebook for query in queries))


class FacetCounting(Countable[FacetQuery]):
    """The counts and scores of sentences."""

    def counting_query(
        self, snapshot: Snapshot, query: FacetQuery, floor: float | None, selection: Selection
    ) -> BatchQuery:
        """All sentences."""
        return FacetScan((query.codebook,), everything=True)

    def text_cosines(self, queries: Sequence[FacetQuery], texts: Sequence[FacetQuery]) -> Float[np.ndarray, " pairs"]:
        """The score of every query with a text of its own, -1 where a text has no facets."""
        return np.array([_text_cosine(*pair) for pair in zip(queries, texts, strict=True)], np.float64)

    def span_cosines(
        self, snapshot: Snapshot, queries: Sequence[FacetQuery], spans: Sequence[NamedSpan]
    ) -> Float[np.ndarray, " spans"]:
        """The score of the best sentence that the span lies in or touches."""
        return np.array([_span_cosine(queries[span.query], span) for span in spans], np.float64)

    def is_literal_text(self, text: Terms, terms: Terms) -> bool:
        """True for a text that holds the query's words, as sentences do."""
        return holds(text, terms)


def _named(query: FacetQuery, codebook: Float32[np.ndarray, "facets dim"]) -> tuple[FacetWords, ...]:
    nearest = [] if query.words is None else query.words.nearest(codebook, _WORDS_OF_A_FACET)
    return tuple(FacetWords(tuple(word for word, _ in of_facet)) for of_facet in nearest)


def _text_cosine(query: FacetQuery, text: FacetQuery) -> float:
    if query.codebook is None or text.codebook is None:
        return -1.0
    distance = codebook_distance(query.codebook, text.codebook)
    return float(cosines_of(distance[None], len(query.codebook))[0])


def _span_cosine(query: FacetQuery, span: NamedSpan) -> float:
    view = span.located.view
    bounds = view.segment.whole_spans["sentence"]
    first = int(bounds[np.searchsorted(bounds, span.units.start, side="right") - 1])
    stored = stored_facets(view.segment)
    rows = np.flatnonzero((stored.units >= first) & (stored.units < span.units.end))
    if query.codebook is None or not len(rows):
        return -1.0
    return float(facet_cosines(query.codebook, stored, rows).max())
