"""Scores of sentences, or clauses or parts, by meaning and by words."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from app.search.modes.best_span import SpanQuery, TokenizedQuery
from app.search.modes.hybrid.weights import Weights
from app.search.sentences import across_sentences
from app.search.types import HybridTerm
from indexer.engine.base import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.selection import ExactSpans
from indexer.engine.snapshot import Snapshot
from indexer.engine.wholes import WholeScores, score_wholes
from indexer.words.bm25 import Bm25, SegmentWords
from indexer.words.literal import joined, wholes_with_floor
from indexer.words.queries import WordQuery
from models.text.borders import Boundary
from models.types import CharSpan, UnitSpan


@dataclass(frozen=True, slots=True)
class HybridQuery:
    """A query for spans, its words, and whether their occurrences rank first."""

    span: TokenizedQuery | SpanQuery
    words: WordQuery
    terms: tuple[str, ...]

    @property
    def encoded(self) -> SpanQuery:
        """The query with its vector."""
        if isinstance(self.span, SpanQuery):
            return self.span
        raise AssertionError("the query is encoded")


class Scorer:
    """Scores the wholes of a snapshot for one query."""

    def __init__(self, snapshot: Snapshot, query: HybridQuery, selection: Selection) -> None:
        self.boundary: Boundary = selection.boundary or "sentence"
        self.selection = replace(selection, boundary=self.boundary)
        self.unbounded = None if selection.boundary else selection
        self.query = query
        self.weights = Weights.of(query.words.length)
        self.bm25 = Bm25.in_snapshot(snapshot, query.words, self.boundary)
        self.of_parts = self.bm25 if self.boundary == "part" else self.bm25.of("part")
        self.segments = self.bm25.segments
        self._parts = {id(of.view): of for of in self.of_parts.segments}

    def shares(
        self, segment: SegmentWords, rows: Int[np.ndarray, " rows"]
    ) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
        """The shares of BM25 of some wholes, and of the parts around them."""
        shares = self.bm25.shares_at(segment, rows)
        parts = self._parts[id(segment.view)]
        if parts is segment:
            return shares, shares
        of_rows = np.searchsorted(parts.bounds, segment.bounds[rows], side="right") - 1
        numbers, owners = np.unique(of_rows, return_inverse=True)
        return shares, self.of_parts.shares_at(parts, numbers)[owners]

    def of_words(self, segment: SegmentWords, most: int) -> Int[np.ndarray, " rows"]:
        """The wholes with the best shares, at most so many, that a selection allows."""
        rows, shares = self.bm25.found(segment)
        allowed = self.chosen(segment)[rows]
        rows, shares = rows[allowed], shares[allowed]
        return rows[np.argpartition(-shares, most)[:most]] if len(rows) > most else rows

    def chosen(self, segment: SegmentWords) -> Bool[np.ndarray, " wholes"]:
        """The wholes that a selection allows."""
        starts, ends = segment.bounds[:-1], segment.bounds[1:]
        mask = segment.view.allowed(self.selection.filter).mask
        chosen = np.ones(len(starts), bool) if mask is None else mask[starts]
        return chosen & self.selection.lengths.contain(ends - starts) if self.selection.lengths else chosen

    def by_meaning(self, segment: SegmentWords, rows: Int[np.ndarray, " rows"]) -> WholeScores:
        """The scores of some wholes by their meaning."""
        query, starts, ends = self.query.encoded, segment.bounds[rows], segment.bounds[rows + 1]
        return score_wholes(segment.view, starts, ends, query.vector, query.units, query.score, self.boundary)

    def spans(self, segment: SegmentWords, rows: Int[np.ndarray, " rows"]) -> ExactSpans:
        """Some wholes with their scores; those with an occurrence, and occurrences across wholes, are exact."""
        shares = self.weights.shares(*self.shares(segment, rows))
        scores = self.weights.scores(self.by_meaning(segment, rows).scores, shares)
        spans = ExactSpans(segment.view, segment.bounds[rows], segment.bounds[rows + 1], scores)
        if not self.query.terms:
            return spans
        spans = wholes_with_floor(spans, self.query.terms, self.selection)
        return joined(across_sentences(segment, self.query.terms, self.unbounded), spans) if self.unbounded else spans

    def terms(self, scored: ScoredSpan) -> tuple[tuple[HybridTerm, ...], CharSpan | None]:
        """The terms of the score of a whole, and its best span."""
        stored, units = scored.place.segment, scored.place.segment_units
        segment = next(each for each in self.segments if each.view.segment is stored)
        row = int(np.searchsorted(segment.bounds, units.start, side="right")) - 1
        meaning = self.by_meaning(segment, np.array([row]))
        wholes, parts = self.shares(segment, np.array([row]))
        span = stored.char_span(UnitSpan(*meaning.spans[0].tolist())) if meaning.has_span[0] else None
        by_words = _word_terms(self.weights, float(wholes[0]), float(parts[0]), self.boundary)
        return (*_meaning_terms(self.weights, meaning), *by_words), span


def _meaning_terms(weights: Weights, meaning: WholeScores) -> Iterator[HybridTerm]:
    """The terms of the score of one whole by its meaning."""
    share, left = meaning.share if meaning.has_span[0] else 1.0, 1 - weights.words
    yield HybridTerm("whole", float(meaning.own[0]), left * share * (1 - meaning.share_of_context))
    if meaning.share_of_context:
        yield HybridTerm("part", float(meaning.part[0]), left * share * meaning.share_of_context)
    if meaning.has_span[0]:
        yield HybridTerm("best_span", float(meaning.best[0]), left * (1 - share))


def _word_terms(weights: Weights, whole: float, part: float, boundary: Boundary) -> Iterator[HybridTerm]:
    """The terms of the shares of one whole and the part around it."""
    if boundary == "part":
        yield HybridTerm("words", 2 * whole - 1, weights.words)
    else:
        yield HybridTerm("words", 2 * whole - 1, weights.words * (1 - weights.of_part))
        yield HybridTerm("words_of_part", 2 * part - 1, weights.words * weights.of_part)
