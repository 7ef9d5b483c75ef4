"""Mode ``hybrid``: sentences by their best span, by themselves and by their words.

The score of a sentence is a convex combination of three numbers from -1 to 1: the span score of its best span, the
cosine of the sentence, and ``2 * share - 1`` of its BM25 score. A search scores the sentences of the best spans and
those of the best BM25 scores, counts score all sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from app.search.best_span import BestSpan, SpanQuery, TokenizedQuery
from app.search.lexical import ADD_WORDS
from app.search.modes import Counts, Resources, Scored, SearchMode
from app.search.sentences import ALL, ScoredSentence, across_sentences, count_sentences, snapshot_of
from app.search.span_hits import present_spans
from app.search.types import Hit, HybridExplanation, Mode, SearchRequest, TextSpan
from indexer.arrays import SpanTerms
from indexer.engine.base import ScoredSpan
from indexer.engine.named_spans import NamedSpan
from indexer.engine.query import Filter, Selection
from indexer.engine.selection import ExactSpans, choose
from indexer.engine.snapshot import Snapshot
from indexer.engine.wholes import BestSpans, best_within
from indexer.tuning import Tuning
from indexer.types import Recipe
from indexer.words.bm25 import Bm25, SegmentWords, text_share
from indexer.words.literal import BELOW, EXACT, is_occurrence, joined, literal_spans
from indexer.words.queries import WordQuery, plain_query
from indexer.words.recipe import DETAILS, has_words
from models.errors import InvalidInput
from models.folding import words
from models.types import CharSpan

# Candidates from either side, and how many for every hit.
_FEWEST: Final = 50
_A_HIT: Final = 2
_ALL: Final = 2**62
# The weights of the best span, the sentence and its words; they add up to 1.
WEIGHTS: Final = (0.3, 0.5, 0.2)


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

    @property
    def span_terms(self) -> SpanTerms:
        """The terms added to the cosines of spans."""
        return SpanTerms.of(self.encoded.score, np.array([self.encoded.units]))


@dataclass(frozen=True, slots=True)
class HybridSpan(ScoredSentence):
    """A scored sentence, and the parts of its score; an occurrence across sentences has none."""

    best: float
    best_span: CharSpan
    whole: float
    share: float


class Hybrid(SearchMode[HybridQuery, HybridQuery, HybridSpan]):
    """Sentences, or whole clauses or parts, by meaning and by words."""

    name: Mode = "hybrid"
    requirement = ADD_WORDS

    def __init__(self, spans: BestSpan) -> None:
        self._spans = spans

    def available(self, recipe: Recipe) -> bool:
        """True if the collection has words."""
        return has_words(recipe)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprints of the encoder, its span score and the words."""
        return _fingerprint(self._spans.fingerprint(recipe))

    def score_fingerprint(self, request: SearchRequest, recipe: Recipe) -> str:
        """The same, for the ranking of the request."""
        return _fingerprint(self._spans.score_fingerprint(request, recipe))

    def load(self, recipe: Recipe) -> None:
        """Load the collection's encoder."""
        self._spans.load(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> HybridQuery:
        """Tokenize a text with words. Vectors have none."""
        if request.text is None:
            raise InvalidInput(
                "Mode hybrid also searches for words, which a vector does not have.",
                hint="Give a text, or search in mode best_span.",
                field="vector",
            )
        terms = words(request.text)
        if not terms:
            raise InvalidInput("The query holds no words.", hint="Give at least one word.", field="text")
        span = self._spans.read(request, recipe)
        return HybridQuery(span, plain_query(terms), span.terms)

    def encode(self, queries: Sequence[HybridQuery], recipe: Recipe) -> list[HybridQuery]:
        """The vector of every query; all share a forward pass."""
        spans = self._spans.encode([query.span for query in queries], recipe)
        return [replace(query, span=span) for query, span in zip(queries, spans, strict=True)]

    def search(
        self, snapshot: Snapshot, queries: Sequence[HybridQuery], selection: Selection
    ) -> list[list[HybridSpan]]:
        """The best sentences among the candidates of both sides."""
        wider = Selection(max(_FEWEST, _A_HIT * selection.top_k), None, selection.group_by, selection.filter)
        found = self._spans.candidates(snapshot, [query.encoded for query in queries], wider)
        return [
            _search(_Scorer(snapshot, query, selection), spans, wider.top_k)
            for query, spans in zip(queries, found, strict=True)
        ]

    def count(self, snapshot: Snapshot, query: HybridQuery, floor: float | None, filter: Filter) -> Counts:
        """The best sentence of every document, and the sentences above the floor, of all."""
        scorer = _Scorer(snapshot, query, Selection(ALL, filter=filter))
        spans = [scorer.spans(segment, np.flatnonzero(scorer.chosen(segment))) for segment in scorer.segments]
        return count_sentences(spans, floor)

    def present(
        self, request: SearchRequest, query: HybridQuery, results: list[HybridSpan], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits, explained by the parts of their scores if the request asks for it."""
        of_scored = {id(result.scored): result for result in results}
        scored = [result.scored for result in results]
        hits = present_spans(request, scored, tuning, lambda each: _explanation(request, of_scored[id(each)]))
        exact = [self.is_exact(query, each) for each in scored]
        pairs = zip(hits, exact, strict=True)
        return tuple(replace(hit, match="exact") if is_exact else hit for hit, is_exact in pairs)

    def is_exact(self, query: HybridQuery, scored: Scored) -> bool:
        """True for a sentence that holds an occurrence of the query's own words."""
        return bool(query.terms) and scored.cosine == EXACT

    def text_cosines(self, queries: Sequence[HybridQuery], texts: Sequence[HybridQuery]) -> Float[np.ndarray, " pairs"]:
        """The score of a text that is one span, one sentence and its words."""
        spans = self._spans.text_cosines([query.encoded for query in queries], [text.encoded for text in texts])
        return np.array(
            [_text_score(query, text, float(score)) for query, text, score in zip(queries, texts, spans, strict=True)]
        )

    def span_cosines(self, queries: Sequence[HybridQuery], spans: Sequence[NamedSpan]) -> Float[np.ndarray, " spans"]:
        """The score of the best sentence that the span lies in or touches."""
        return np.array([_span_score(queries[span.query], span) for span in spans], np.float64)


def create(resources: Resources) -> SearchMode[HybridQuery, HybridQuery, HybridSpan]:
    """The mode."""
    return Hybrid(BestSpan(resources.encoders, resources.engine))


class _Scorer:
    """Scores the wholes of a snapshot for one query."""

    def __init__(self, snapshot: Snapshot, query: HybridQuery, selection: Selection) -> None:
        self.selection = replace(selection, boundary=selection.boundary or "sentence")
        self.unbounded = None if selection.boundary else selection
        self.query = query
        self.bm25 = Bm25(snapshot, query.words, selection.boundary or "sentence")
        self.segments = self.bm25.segments
        self.shares = {id(segment): self.bm25.shares(segment) for segment in self.segments}
        self._parts: dict[int, tuple[Int[np.ndarray, " rows"], BestSpans]] = {}

    def chosen(self, segment: SegmentWords) -> Bool[np.ndarray, " wholes"]:
        """The wholes that a selection allows."""
        starts, ends = segment.bounds[:-1], segment.bounds[1:]
        mask = segment.view.allowed(self.selection.filter).mask
        chosen = np.ones(len(starts), bool) if mask is None else mask[starts]
        return chosen & self.selection.lengths.contain(ends - starts) if self.selection.lengths else chosen

    def parts(self, segment: SegmentWords, rows: Int[np.ndarray, " rows"]) -> BestSpans:
        """Of some wholes the score of the best span, that span, and the cosine of the whole."""
        query, bounds = self.query, segment.bounds
        stored = segment.view.segment
        return best_within(stored, bounds[rows], bounds[rows + 1], query.encoded.vector, query.span_terms)

    def spans(self, segment: SegmentWords, rows: Int[np.ndarray, " rows"]) -> ExactSpans:
        """Some wholes with their scores; those with an occurrence, and occurrences across wholes, are exact."""
        best, _, cosines = parts = self.parts(segment, rows)
        self._parts[id(segment)] = rows, parts
        scores = combined(best, cosines, self.shares[id(segment)][rows])
        spans = ExactSpans(segment.view, segment.bounds[rows], segment.bounds[rows + 1], scores)
        if not self.query.terms:
            return spans
        exact = literal_spans(segment.view, self.query.terms, self.selection)
        spans = spans.take(np.flatnonzero(~np.isin(spans.starts, exact.starts)))
        spans = joined(exact, replace(spans, cosines=np.minimum(spans.cosines, BELOW)))
        return joined(across_sentences(segment, self.query.terms, self.unbounded), spans) if self.unbounded else spans

    def result(self, scored: ScoredSpan) -> HybridSpan:
        """A scored sentence with the parts of its score."""
        stored, units = scored.place.segment, scored.place.segment_units
        segment = next(each for each in self.segments if each.view.segment is stored)
        row = int(np.searchsorted(segment.bounds, units.start, side="right")) - 1
        rows, (best, spans, cosines) = self._parts[id(segment)]
        at = int(np.searchsorted(rows, row))
        if at == len(rows) or rows[at] != row:  # exact, and no candidate
            (best, spans, cosines), at = self.parts(segment, np.array([row])), 0
        unit_spans = stored.unit_spans[[spans[at, 0], spans[at, 1] - 1]]
        best_span = CharSpan(int(unit_spans[0, 0]), int(unit_spans[1, 1]))
        return HybridSpan(scored, float(best[at]), best_span, float(cosines[at]), float(self.shares[id(segment)][row]))


def combined(
    spans: Float[np.ndarray, " wholes"], wholes: Float[np.ndarray, " wholes"], shares: Float[np.ndarray, " wholes"]
) -> Float[np.ndarray, " wholes"]:
    """The scores of sentences from those of their best spans, their cosines and their shares of BM25.

    >>> combined(np.array([1.0, 0.5]), np.array([1.0, 0.5]), np.array([1.0, 0.0])).round(2).tolist()
    [1.0, 0.2]
    """
    return WEIGHTS[0] * spans + WEIGHTS[1] * wholes + WEIGHTS[2] * (2 * shares - 1)


def _search(scorer: _Scorer, found: Sequence[ScoredSpan], candidates: int) -> list[HybridSpan]:
    spans = []
    for segment in scorer.segments:
        units = [each.place.segment_units.start for each in found if each.place.segment is segment.view.segment]
        of_spans = np.searchsorted(segment.bounds, np.array(units, np.int64), side="right") - 1
        shares = np.where(scorer.chosen(segment), scorer.shares[id(segment)], 0.0)
        rows = np.flatnonzero(shares)
        if len(rows) > candidates:
            rows = rows[np.argpartition(-shares[rows], candidates)[:candidates]]
        both = np.union1d(of_spans, rows).astype(np.int64)
        spans.append(scorer.spans(segment, both[scorer.chosen(segment)[both]]))
    return [scorer.result(scored) for scored in choose(spans, scorer.selection)]


def _fingerprint(spans: str) -> str:
    return f"{spans}+{DETAILS['fingerprint']}+hybrid.v1"


def _text_score(query: HybridQuery, text: HybridQuery, span: float) -> float:
    if query.terms and query.terms == text.terms:
        return EXACT
    cosine = float(query.encoded.vector.astype(np.float64) @ text.encoded.vector)
    shares = np.array([text_share(query.words, words_of(text))])
    return min(float(combined(np.array([span]), np.array([cosine]), shares)[0]), BELOW if query.terms else 1.0)


def words_of(query: HybridQuery) -> tuple[str, ...]:
    """The words of a query that is compared as a text, in any order."""
    return tuple(item.words[0] for item, count in query.words.items for _ in range(count))


def _span_score(query: HybridQuery, span: NamedSpan) -> float:
    view = span.located.view
    if is_occurrence(view, span.units, query.terms):
        return EXACT
    scorer = _Scorer(snapshot_of(span), query, Selection(ALL))
    segment = next((each for each in scorer.segments if each.view is view), None)
    if segment is None:
        return -1.0
    first, last = np.searchsorted(segment.bounds, [span.units.start, span.units.end - 1], side="right") - 1
    scores = scorer.spans(segment, np.arange(first, last + 1))
    inside = (scores.starts >= segment.bounds[first]) & (scores.ends <= segment.bounds[last + 1])
    return float(scores.cosines[inside].max())


def _explanation(request: SearchRequest, span: HybridSpan) -> HybridExplanation:
    place, unit, best = span.place, request.offset_unit, span.best_span
    text = TextSpan(place.offset(best.start, unit), place.offset(best.end, unit), place.text(best))
    parts = np.array([span.best]), np.array([span.whole]), np.array([span.share])
    score = float(combined(*parts)[0])
    return HybridExplanation(score, text, span.best, span.whole, span.share, WEIGHTS, span.cosine - score)
