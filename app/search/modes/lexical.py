"""Mode ``lexical``: sentences by BM25, for words, "phrases" and prefixes*."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from jaxtyping import Float

from app.answers import described
from app.requests import SearchRequest
from app.search.answers import Hit, TextSpan
from app.search.hits import shortened
from app.search.mode import Accepts, BatchQuery, Countable, Mode, Needs, Presented, Total
from app.search.reading import check_span_choice
from indexer.engine.executor import Memo, SegmentQuery
from indexer.engine.named_spans import NamedSpan
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection, SpanLengths
from indexer.engine.rows import SpanRows, no_rows
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.tuning import Tuning
from indexer.types import Recipe
from indexer.words.bm25 import (
    Bm25,
    SegmentWords,
    WordCounts,
    sum_counts,
    text_share,
    units_in_reach,
    units_with_words,
)
from indexer.words.queries import WordQuery, read_query
from indexer.words.recipe import DETAILS, NAME
from models.text.words import Language, words
from models.types import UnitSpan

ADD_WORDS = "Run `spanseek optimize --words` once, which adds the words of its texts."


def stem_fingerprint(language: Language | None) -> str:
    """The part of a fingerprint that names the stemming."""
    return f"+stems.{language}" if language else ""


@dataclass(frozen=True, slots=True)
class WordContribution:
    """A word, a prefix or a phrase of the query in a hit."""

    word: str
    count: Annotated[int, described("How often the sentence around the hit holds it.")]
    weight: Annotated[float, described("Its weight in the collection: the rarer, the larger.")]
    contribution: Annotated[float, described("The part of the BM25 score that it makes.")]


@dataclass(frozen=True, slots=True)
class LexicalExplanation:
    """The BM25 score of the sentence, to which the contributions add up, and the highest score for the query.

    `bm25 / highest` is raw, unless the words stand in the order of the query: then raw is 1.
    """

    cosine: Annotated[float, described("2 * raw - 1, as in the other modes.")]
    bm25: float
    highest: Annotated[float, described("The score of a sentence that is the query.")]
    words: tuple[WordContribution, ...]

    def lines(self) -> Iterator[str]:
        """The words with their contributions."""
        yield "  ".join(f"{word.word} {word.contribution:+.3f}" for word in self.words)


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The words of a query, the words of its text, and the longest hit of its collection in units."""

    words: WordQuery
    terms: tuple[str, ...]
    longest: int


@dataclass(frozen=True, slots=True)
class LexicalScan(SegmentQuery[list[WordCounts], list[SpanRows]]):
    """All sentences with words of queries, or clauses or parts, as the selection's boundary says."""

    queries: tuple[LexicalQuery, ...]
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def rounds(self) -> int:
        """One: words weigh by how many sentences of all segments have them."""
        return 1

    def statistics(self, view: SegmentView, total: list[WordCounts] | None, selection: Selection) -> list[WordCounts]:
        """The words of a segment, for every query."""
        reach = units_in_reach(view, selection.filter)
        return [
            WordCounts.none(query.words) if segment is None else segment.counts(reach)
            for query, segment in zip(self.queries, self._read(view, selection), strict=True)
        ]

    def total(self, parts: Sequence[list[WordCounts]], selection: Selection) -> list[WordCounts]:
        """The counts of all segments."""
        return sum_counts([query.words for query in self.queries], parts)

    def rows(self, view: SegmentView, total: list[WordCounts] | None, selection: Selection) -> list[SpanRows]:
        """The sentences of a segment, for every query."""
        segments = self._read(view, selection)
        self.memo.pop(view.name, None)
        return [
            no_rows(view.name) if segment is None else _rows(Bm25(query.words, counts), view, segment, query, selection)
            for query, segment, counts in zip(self.queries, segments, total or self.total([], selection), strict=True)
        ]

    def _read(self, view: SegmentView, selection: Selection) -> list[SegmentWords | None]:
        boundary = selection.boundary or "sentence"
        return self.memo.once(
            view.name, lambda: [SegmentWords.read(view.segment, query.words, boundary) for query in self.queries]
        )


class LexicalHits(Presented[LexicalQuery]):
    """Sentences, with the query's words."""

    whole = "sentence"
    explanation = LexicalExplanation

    def present(
        self, request: SearchRequest, query: LexicalQuery, spans: list[ScoredSpan], tuning: Tuning, total: Total
    ) -> tuple[Hit, ...]:
        """Hits with the query's words."""
        hits = super().present(request, query, spans, tuning, total)
        pairs = zip(hits, spans, strict=True)
        return tuple(
            replace(hit, highlights=_highlights(request, query, shortened(request, span))) for hit, span in pairs
        )

    def explain(
        self, request: SearchRequest, query: LexicalQuery, span: ScoredSpan, total: WordCounts
    ) -> LexicalExplanation | None:
        """The words of the sentence."""
        segment = SegmentWords.read(span.place.segment, query.words, request.spans.boundary or "sentence")
        if segment is None:
            return None
        bm25 = Bm25(query.words, total)
        parts = tuple(
            WordContribution(match.item.text, match.count, match.weight, match.contribution)
            for match in bm25.matches(segment, segment.whole_of(span.place.segment_units.start))
        )
        return LexicalExplanation(span.cosine, sum(part.contribution for part in parts), bm25.highest, parts)


class Lexical(Mode[LexicalQuery, LexicalQuery]):
    """Sentences, or whole clauses or parts, by the words that they share with the query."""

    name = "lexical"
    accepts = Accepts(stemming=True, operators=True)
    needs = Needs(NAME, ADD_WORDS)
    presented = LexicalHits()

    @property
    def countable(self) -> "LexicalCounting":
        """The scores of texts and spans."""
        return LexicalCounting(self)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the words, and of their score."""
        return f"{DETAILS['fingerprint']}+bm25.v1"

    def read(self, request: SearchRequest, recipe: Recipe) -> LexicalQuery:
        """Read the words of a text."""
        check_span_choice(request.spans, recipe.bounds)
        text = request.text or ""
        longest = recipe.bounds.longest if request.spans.max_units is None else request.spans.max_units
        return LexicalQuery(read_query(text, request.stemming, recipe.text), words(text, recipe.text), longest)

    def encode(self, queries: Sequence[LexicalQuery], recipe: Recipe) -> list[LexicalQuery]:
        """The queries as they are."""
        return list(queries)

    def segment_query(self, snapshot: Snapshot, queries: Sequence[LexicalQuery], selection: Selection) -> BatchQuery:
        """All sentences with words of every query."""
        return LexicalScan(tuple(queries))


class LexicalCounting(Countable[LexicalQuery]):
    """The scores of texts and spans."""

    def score_fingerprint(self, request: SearchRequest, recipe: Recipe) -> str:
        """The same, with the language of stems."""
        return super().score_fingerprint(request, recipe) + stem_fingerprint(request.stemming)

    def text_cosines(
        self, queries: Sequence[LexicalQuery], texts: Sequence[LexicalQuery]
    ) -> Float[np.ndarray, " pairs"]:
        """The share of a text alone, without the weights that words have in a collection."""
        pairs = zip(queries, texts, strict=True)
        return np.array([2 * text_share(query.words, text.terms) - 1 for query, text in pairs], np.float64)

    def span_cosines(
        self, snapshot: Snapshot, queries: Sequence[LexicalQuery], spans: Sequence[NamedSpan]
    ) -> Float[np.ndarray, " spans"]:
        """The score of the best sentence that the span lies in or touches."""
        counts = snapshot.map(LexicalScan(tuple(queries))).total or []
        pairs = ((queries[span.query], counts[span.query], span) for span in spans)
        return np.array([2 * _share(query, of_query, span) - 1 for query, of_query, span in pairs], np.float64)


def _rows(bm25: Bm25, view: SegmentView, segment: SegmentWords, query: LexicalQuery, selection: Selection) -> SpanRows:
    """The spans of a segment that may be selected."""
    longest = None if selection.boundary else query.longest
    if selection.lengths and longest is not None:  # to which longer sentences are cut
        selection = replace(selection, lengths=SpanLengths(selection.lengths.shortest))
    selected = view.selects(segment.bounds[:-1], segment.bounds[1:], selection)
    return bm25.rows(segment, selected, longest)


def _highlights(request: SearchRequest, query: LexicalQuery, span: ScoredSpan) -> tuple[TextSpan, ...]:
    """The units of the query's words."""
    place = span.place
    units = units_with_words(place.segment, query.words, place.segment_units)
    marked = (place.segment.char_span(UnitSpan(at, at + 1)) for at in units.tolist())
    return tuple(TextSpan.at(place, each, request.offset_unit) for each in marked)


def _share(query: LexicalQuery, counts: WordCounts, span: NamedSpan) -> float:
    segment = SegmentWords.read(span.located.view.segment, query.words, "sentence")
    if segment is None:
        return 0.0
    first, last = segment.whole_of(span.units.start), segment.whole_of(span.units.end - 1)
    return float(Bm25(query.words, counts).shares(segment)[first : last + 1].max())
