"""What the second look reads of a result, whatever mode found it: its sentence, and the span in it that is nearest.

The similarity that a verdict weighs is that of mode ``best_span``, of the best span in the sentence. So a verdict
depends on the phrase and on the sentence alone, and no mode's own score moves it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.search.modes.best_span.queries import SpanQuery, terms_of
from indexer.engine.best_sentence import LONG, BestSpan, best_span_of, nearest_sentences, sentences_of
from indexer.engine.place import Place
from indexer.engine.query import Filter, Selection
from indexer.engine.rows import SpanRow, SpanRows
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.words.literal import BELOW, EXACT, Occurrences, Terms
from models.ops.similarity import raws
from models.types import CharSpan, UnitSpan
from models.verifier.types import Pair


@dataclass(frozen=True, slots=True)
class Clause:
    """The sentence that the second look reads: the place of the best span in it, its characters, and the pair."""

    place: Place
    span: CharSpan
    pair: Pair

    @classmethod
    def of(cls, phrase: str, place: Place, score: float) -> "Clause":
        """The sentence around a span that has this score."""
        sentence, span = place.sentence(), place.span
        mark = CharSpan(max(span.start - sentence.start, 0), span.end - sentence.start)
        similarity = round(float(raws(np.array([score], np.float64))[0]), 4)
        return cls(place, sentence, Pair(phrase, place.text(sentence), None if span == sentence else mark, similarity))


@dataclass(frozen=True, slots=True)
class PhraseQuery:
    """A phrase as a query for spans, its folded words, if the collection has words, and the filter of its search.

    Of results that are ``documents`` the sentences of the best span are read.
    """

    text: str
    span: SpanQuery
    terms: Terms
    filter: Filter
    documents: bool

    def clauses(self, snapshot: Snapshot, rows: Sequence[SpanRow]) -> list[Clause]:
        """What is read of every result."""
        views = {view.name: view for view in snapshot.views}
        named = dict.fromkeys(row.segment for row in rows)
        literal = {name: self._occurrences(views[name]) for name in named}
        return [self._clause(views[row.segment], literal[row.segment], UnitSpan(row.start, row.end)) for row in rows]

    def _occurrences(self, view: SegmentView) -> SpanRows:
        return Occurrences((self.terms,), "span").rows(view, None, Selection(filter=self.filter))[0].spans

    def _clause(self, view: SegmentView, literal: SpanRows, units: UnitSpan) -> Clause:
        best = self._best(view, literal, units)
        place = Place(view.segment, view.segment.part_of(best.units.start), best.units)
        return Clause.of(self.text, place, best.score)

    def _best(self, view: SegmentView, literal: SpanRows, units: UnitSpan) -> BestSpan:
        """The first occurrence in the sentences of a result, else the best span in them."""
        segment, vector, terms = view.segment, self.span.vector, terms_of([self.span])
        units = units if self.documents else sentences_of(segment, units)
        inside = np.flatnonzero((literal.starts >= units.start) & (literal.ends <= units.end))
        if len(inside):
            return BestSpan(UnitSpan(*literal.row(int(inside[0]))[1:3]), EXACT)
        if self.documents or len(units) > LONG:
            units = nearest_sentences(view, units, vector, terms, self.filter)
        best = best_span_of(segment, units, vector, terms)
        return BestSpan(best.units, min(best.score, BELOW) if self.terms else best.score)
