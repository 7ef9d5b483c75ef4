"""Scores of sentences, or clauses or parts, by meaning and by words, and how hits explain them.

The weight of words grows with the length of the query. A phrase of a few words names a topic, which the words of a
sentence say little about. A query of thirty words is a text of its own, and a sentence that shares most of them is a
copy. ``python -m research.evaluation.hybrid_weights`` compares weights; docs/adr/0017-words-in-segments.md has the
figures.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Annotated, Final, Literal, Self, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from app.answers import described, optional
from app.search.answers import TextSpan
from app.search.span_queries import SpanQuery, TokenizedQuery
from indexer.engine.rows import SpanRows
from indexer.engine.whole_spans import WholeSpanScores, score_whole_spans
from indexer.segments.reader import Segment
from indexer.words.bm25 import Bm25, SegmentWords, WordCounts
from indexer.words.queries import WordQuery
from models.text.borders import Boundary
from models.types import CharSpan, UnitSpan

Shares: TypeAlias = Float[np.ndarray, " whole_spans"]

# The number of words of a query at which words count least, and most; the part's words count as much as the sentence's
# own, and not at all.
_FEW, _MANY = 6, 30
_QUESTION, _TEXT = 10, 30
_LEAST: Final = 0.01
_MOST: Final = 0.5
# What a hybrid score is made of: the hit's best span, the hit and the part around it, by meaning and by their words.
HybridTermName: TypeAlias = Literal["best_span", "whole", "part", "words", "words_of_part"]


@dataclass(frozen=True, slots=True)
class HybridTerm:
    """A term of a hybrid score."""

    name: HybridTermName
    value: Annotated[float, described("From -1 to 1: a score of meaning, or `2 * share - 1` of the BM25 score.")]
    weight: Annotated[float, described("How much it counts; the weights add up to 1.")]


@dataclass(frozen=True, slots=True)
class HybridExplanation:
    """The terms of a hybrid score, which is `2 * raw - 1`: `cosine` is their weighted mean, and `exact` the rest."""

    cosine: Annotated[float, described("The weighted mean of the terms.")]
    terms: tuple[HybridTerm, ...]
    span: Annotated[TextSpan | None, optional("The best span of the hit; absent where none fits into it.")] = None
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0

    def lines(self) -> Iterator[str]:
        """The terms, and the best span of the hit."""
        weighed = "  ".join(f"{term.name.replace('_', ' ')} {term.value:+.3f}" for term in self.terms)
        yield f"{weighed}  {self.span.text}" if self.span else weighed


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of words beside meaning, and of the words of the part around beside the sentence's."""

    words: float
    of_part: float

    @classmethod
    def of(cls, length: int) -> Self:
        """The weights for a query of ``length`` words.

        >>> Weights.of(2), Weights.of(40)
        (Weights(words=0.01, of_part=0.5), Weights(words=0.5, of_part=0.0))
        """
        return cls(max(_LEAST, _MOST * _rise(length, _FEW, _MANY)), 0.5 * (1 - _rise(length, _QUESTION, _TEXT)))

    def shares(self, whole_spans: Shares, parts: Shares) -> Shares:
        """The shares of BM25 of whole spans together with the parts around them."""
        return (1 - self.of_part) * whole_spans + self.of_part * parts

    def scores(self, meanings: Float[np.ndarray, " whole_spans"], shares: Shares) -> Float[np.ndarray, " whole_spans"]:
        """The scores of whole spans by the scores of their meaning and their shares of BM25.

        >>> Weights(0.2, 0.5).scores(np.array([1.0, 0.5]), np.array([1.0, 0.0])).round(2).tolist()
        [1.0, 0.2]
        """
        return (1 - self.words) * meanings + self.words * (2 * shares - 1)


def _rise(length: int, low: int, high: int) -> float:
    """From 0 at the low number of words to 1 at the high one, by the logarithm."""
    return min(max(log(max(length, 1) / low) / log(high / low), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class HybridQuery:
    """A query for spans, and its words."""

    span: TokenizedQuery | SpanQuery
    words: WordQuery

    @property
    def encoded(self) -> SpanQuery:
        """The query with its vector."""
        if isinstance(self.span, SpanQuery):
            return self.span
        raise AssertionError("the query is encoded")


# The counts of BM25 in a segment: by the whole spans that hits are, and by parts.
SegmentCounts: TypeAlias = tuple[WordCounts, WordCounts]


class Scorer:
    """Scores the whole spans of a segment for one query."""

    def __init__(self, words: SegmentWords, query: HybridQuery, boundary: Boundary) -> None:
        self.words, self._query, self._boundary = words, query, boundary
        self._parts = words if boundary == "part" else words.of("part")
        self._weights = Weights.of(query.words.length)

    @classmethod
    def read(cls, segment: Segment, query: HybridQuery, boundary: Boundary | None) -> "Scorer | None":
        """The scores of a segment; None if it has no words."""
        boundary = boundary or "sentence"
        words = SegmentWords.read(segment, query.words, boundary)
        return None if words is None else cls(words, query, boundary)

    def counts(self, reach: Bool[np.ndarray, " units"] | None) -> SegmentCounts:
        """BM25's statistics of the units in reach; None stands for all."""
        return self.words.counts(reach), self._parts.counts(reach)

    def best_by_words(
        self, counts: SegmentCounts, chosen: Bool[np.ndarray, " whole_spans"], most: int
    ) -> Int[np.ndarray, " rows"]:
        """The chosen whole spans with the best shares, at most as many."""
        rows, shares = Bm25(self._query.words, counts[0]).found(self.words)
        rows, shares = rows[chosen[rows]], shares[chosen[rows]]
        return rows[np.argpartition(-shares, most)[:most]] if len(rows) > most else rows

    def rows(self, counts: SegmentCounts, rows: Int[np.ndarray, " rows"]) -> SpanRows:
        """Some whole spans with their scores."""
        shares = self._weights.shares(*self._shares(counts, rows))
        scores = self._weights.scores(self._by_meaning(rows).scores, shares)
        bounds, name = self.words.bounds, self.words.segment.folder.name
        return SpanRows(name, bounds[rows].astype(np.int64), bounds[rows + 1].astype(np.int64), scores)

    def terms(self, counts: SegmentCounts, unit: int) -> tuple[tuple[HybridTerm, ...], CharSpan | None]:
        """The terms of the score of the whole span that holds a unit, and its best span."""
        rows = np.array([self.words.whole_of(unit)])
        meaning = self._by_meaning(rows)
        whole_spans, parts = self._shares(counts, rows)
        segment = self.words.segment
        span = segment.char_span(UnitSpan(*meaning.spans[0].tolist())) if meaning.has_span[0] else None
        by_words = _word_terms(self._weights, float(whole_spans[0]), float(parts[0]), self._boundary)
        return (*_meaning_terms(self._weights, meaning), *by_words), span

    def _shares(
        self, counts: SegmentCounts, rows: Int[np.ndarray, " rows"]
    ) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
        """The shares of BM25 of some whole spans, and of the parts around them."""
        own, of_parts = (Bm25(self._query.words, each) for each in counts)
        shares = own.shares_at(self.words, rows)
        if self._parts is self.words:
            return shares, shares
        around = np.searchsorted(self._parts.bounds, self.words.bounds[rows], side="right") - 1
        numbers, owners = np.unique(around, return_inverse=True)
        return shares, of_parts.shares_at(self._parts, numbers)[owners]

    def _by_meaning(self, rows: Int[np.ndarray, " rows"]) -> WholeSpanScores:
        """The scores of some whole spans by their meaning."""
        query, bounds, segment = self._query.encoded, self.words.bounds, self.words.segment
        places = bounds[rows], bounds[rows + 1]
        return score_whole_spans(segment, *places, query.vector, query.units, query.score, self._boundary)


def _meaning_terms(weights: Weights, meaning: WholeSpanScores) -> Iterator[HybridTerm]:
    """The terms of the score of one whole span by its meaning."""
    share, left = meaning.share if meaning.has_span[0] else 1.0, 1 - weights.words
    yield HybridTerm("whole", float(meaning.own[0]), left * share * (1 - meaning.share_of_context))
    if meaning.share_of_context:
        yield HybridTerm("part", float(meaning.part[0]), left * share * meaning.share_of_context)
    if meaning.has_span[0]:
        yield HybridTerm("best_span", float(meaning.best[0]), left * (1 - share))


def _word_terms(weights: Weights, whole: float, part: float, boundary: Boundary) -> Iterator[HybridTerm]:
    """The terms of the shares of one whole span and the part around it."""
    if boundary == "part":
        yield HybridTerm("words", 2 * whole - 1, weights.words)
    else:
        yield HybridTerm("words", 2 * whole - 1, weights.words * (1 - weights.of_part))
        yield HybridTerm("words_of_part", 2 * part - 1, weights.words * weights.of_part)
