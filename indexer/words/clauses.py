"""The clause of a result, which the verifier reads in every search mode: its sentence, and the nearest span in it.

A verdict weighs the similarity that mode ``best_span`` gives to the best span in the sentence. So a verdict depends on
the phrase and the sentence alone, and the score of the result's mode does not change it. Further spans of one sentence
are judged by themselves, and without the clause of the best one: they do not match because of what that says.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32

from indexer.arrays import SpanTerms
from indexer.engine.best_sentence import LONG, BestSpan, best_spans_of, nearest_sentences, sentences_of
from indexer.engine.place import Place
from indexer.engine.query import Filter, Selection
from indexer.engine.rows import SpanRow, SpanRows
from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from indexer.words.literal import BELOW, EXACT, Occurrences, Terms
from models.ops.similarity import raws
from models.text.borders import clause_around
from models.types import CharSpan, UnitSpan
from models.verifier.rules.marking import unquoted
from models.verifier.types import Pair


@dataclass(frozen=True, slots=True)
class Clause:
    """The sentence around a span, its characters, and what the verifier reads of it beside the phrase."""

    place: Place
    span: CharSpan
    pair: Pair

    @classmethod
    def of(cls, phrase: str, place: Place, score: float, best: CharSpan | None = None) -> "Clause":
        """The sentence around a span, with the similarity that follows from the span's score.

        If the span has a clause in common with the ``best`` one of its sentence, it is read by itself.
        """
        sentence, span = place.sentence(), place.span
        text, mark = place.text(sentence), CharSpan(max(span.start - sentence.start, 0), span.end - sentence.start)
        similarity = round(float(raws(np.array([score], np.float64))[0]), 4)
        clause = clause_around(text, mark)
        if best and clause.start < best.end - sentence.start and best.start - sentence.start < clause.end:
            text, mark = place.text(span), CharSpan(0, len(span))
        return cls(place, sentence, _pair(phrase, text, mark, similarity))


@dataclass(frozen=True, slots=True)
class PhraseQuery:
    """A phrase as a query for spans, its folded words, if the collection has words, and the filter of its search.

    If ``documents`` is true, each result is a document, and the verifier reads the sentences of its best span.
    """

    text: str
    vector: Float32[np.ndarray, " dim"]
    of_spans: SpanTerms
    words: Terms
    filter: Filter = field(default_factory=Filter)
    documents: bool = False

    def clauses(self, view_of: Callable[[str], SegmentView], rows: Sequence[SpanRow]) -> list[Clause]:
        """The clause of every result, in their order; ``view_of`` gives the view of a segment by its name."""
        by_segment: dict[str, list[int]] = {}
        for at, row in enumerate(rows):
            by_segment.setdefault(row.segment, []).append(at)
        clauses: dict[int, Clause] = {}
        for name, places in by_segment.items():
            read = self._of_segment(view_of(name), [UnitSpan(rows[at].start, rows[at].end) for at in places])
            clauses |= dict(zip(places, read, strict=True))
        return [clauses[at] for at in range(len(rows))]

    def _of_segment(self, view: SegmentView, results: Sequence[UnitSpan]) -> list[Clause]:
        segment = view.segment
        occurrences = Occurrences((self.words,), "span").rows(view, None, Selection(filter=self.filter))[0].spans
        whole = [units if self.documents else sentences_of(segment, units) for units in results]
        best = self._best(view, occurrences, whole)
        beside = [at for at, units in enumerate(results) if not self.documents and not _overlap(units, best[at].units)]
        own = dict(zip(beside, self._best(view, occurrences, [results[at] for at in beside]), strict=True))
        clauses = []
        for at, nearest in enumerate(best):
            units, score = own.get(at, nearest)
            place = Place.at(segment, units)
            clauses.append(Clause.of(self.text, place, score, segment.char_span(nearest.units) if at in own else None))
        return clauses

    def _best(self, view: SegmentView, occurrences: SpanRows, within: Sequence[UnitSpan]) -> list[BestSpan]:
        """The best span within each of some units: the clearest occurrence of the words, or else the nearest span."""
        literal = [_clearest_within(view.segment, occurrences, units) for units in within]
        left = [self._nearest(view, units) for units, found in zip(within, literal, strict=True) if found is None]
        nearest = iter(best_spans_of(view.segment, left, self.vector, self.of_spans) if left else ())
        most = BELOW if self.words else EXACT
        return [BestSpan(found, EXACT) if found else _at_most(next(nearest), most) for found in literal]

    def _nearest(self, view: SegmentView, units: UnitSpan) -> UnitSpan:
        if self.documents or len(units) > LONG:
            return nearest_sentences(view, units, self.vector, self.of_spans, self.filter)
        return units


def _pair(phrase: str, text: str, mark: CharSpan, similarity: float) -> Pair:
    """The phrase and the text that are read: without quotation marks around them, which would change verdicts."""
    within = unquoted(text)
    start, end = (min(max(at, within.start), within.end) - within.start for at in (mark.start, mark.end))
    marked = CharSpan(start, end) if 0 < end - start < len(within) else None
    return Pair(unquoted(phrase).of(phrase), within.of(text), marked, similarity)


def _at_most(span: BestSpan, score: float) -> BestSpan:
    return BestSpan(span.units, min(span.score, score))


def _overlap(units: UnitSpan, others: UnitSpan) -> bool:
    return units.start < others.end and others.start < units.end


def _clearest_within(segment: Segment, occurrences: SpanRows, units: UnitSpan) -> UnitSpan | None:
    """The occurrence within some units in the shortest sentence, which says least besides; the first one of equals."""
    inside = np.flatnonzero((occurrences.starts >= units.start) & (occurrences.ends <= units.end))
    rows = (occurrences.row(int(at)) for at in inside)
    spans = (UnitSpan(row.start, row.end) for row in rows)
    return min(spans, key=lambda span: len(sentences_of(segment, span)), default=None)
