"""Mode ``hybrid``: sentences by meaning and by their words.

The score of a sentence is a convex combination of the score by which mode ``best_span`` ranks whole sentences
(``indexer.engine.wholes``), and of ``2 * share - 1`` of BM25. Both count the sentence and the part around it. A search
scores the sentences of the best spans and those of the best BM25 scores, counts score all sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from app.requests import Mode, SearchRequest
from app.search.mode import Counts, Resources, Scored, SearchMode
from app.search.modes.best_span import BestSpan
from app.search.modes.hybrid.scorer import HybridQuery, Scorer
from app.search.modes.hybrid.weights import Weights
from app.search.modes.lexical import ADD_WORDS, stem_fingerprint
from app.search.sentences import ALL, ScoredSentence, counts_of, snapshot_of
from app.search.span_hits import present_spans
from app.search.types import Hit, HybridExplanation, TextSpan
from indexer.engine.base import ScoredSpan
from indexer.engine.named_spans import NamedSpan
from indexer.engine.query import Grouping, Selection
from indexer.engine.selection import choose
from indexer.engine.snapshot import Snapshot
from indexer.tuning import Tuning
from indexer.types import Recipe
from indexer.words.bm25 import SegmentWords, text_share
from indexer.words.literal import BELOW, EXACT, is_occurrence
from indexer.words.queries import plain_query
from indexer.words.recipe import DETAILS, has_words
from models.errors import InvalidInput
from models.text.folding import words

# Candidates among the best spans, and how many for every hit; half as many among the best BM25 scores.
_FEWEST: Final = 50
_A_HIT: Final = 2
_ALL: Final = 2**62


@dataclass(frozen=True, slots=True)
class HybridSpan(ScoredSentence):
    """A scored sentence, or an occurrence across sentences, and what explains its score."""

    scorer: Scorer


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
        """The same, for the ranking of the request and the language of stems."""
        return _fingerprint(self._spans.score_fingerprint(request, recipe)) + stem_fingerprint(request.stemming)

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
        return HybridQuery(span, plain_query(terms, request.stemming), span.terms)

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
            _search(Scorer(snapshot, query, selection), spans, wider.top_k)
            for query, spans in zip(queries, found, strict=True)
        ]

    def count(self, snapshot: Snapshot, query: HybridQuery, floor: float | None, selection: Selection) -> Counts:
        """The best sentence of every document, and the sentences above the floor, of all."""
        scorer = Scorer(snapshot, query, selection)
        spans = [scorer.spans(segment, np.flatnonzero(scorer.chosen(segment))) for segment in scorer.segments]
        return counts_of(spans, floor)

    def present(
        self, request: SearchRequest, query: HybridQuery, results: list[HybridSpan], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits, explained by the parts of their scores if the request asks for it."""
        of_scored = {id(result.scored): result for result in results}
        scored = [result.scored for result in results]
        hits = present_spans(request, scored, tuning, lambda each: _explanation(request, query, of_scored[id(each)]))
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


def _search(scorer: Scorer, found: Sequence[ScoredSpan], candidates: int) -> list[HybridSpan]:
    spans = []
    for segment in scorer.segments:
        units = [each.place.segment_units.start for each in found if each.place.segment is segment.view.segment]
        of_spans = np.searchsorted(segment.bounds, np.array(units, np.int64), side="right") - 1
        rows = np.union1d(of_spans, scorer.of_words(segment, candidates // 2)).astype(np.int64)
        both = _of_groups(segment, rows, scorer.selection.group_by)
        spans.append(scorer.spans(segment, both[scorer.chosen(segment)[both]]))
    return [HybridSpan(scored, scorer) for scored in choose(spans, scorer.selection)]


def _of_groups(segment: SegmentWords, rows: Int[np.ndarray, " rows"], group_by: Grouping) -> Int[np.ndarray, " all"]:
    """All wholes of the parts or documents of some: the best of a document need not be the one with its best span."""
    if group_by == "span":
        return rows
    stored = segment.view.segment
    groups = np.searchsorted(stored.part_units, segment.bounds[:-1], side="right") - 1
    if group_by == "document":
        groups = stored.part_document[groups]
    return np.flatnonzero(np.isin(groups, groups[rows]))


def _fingerprint(spans: str) -> str:
    return f"{spans}+{DETAILS['fingerprint']}+hybrid.v2"


def _text_score(query: HybridQuery, text: HybridQuery, span: float) -> float:
    """The score of a text that is one span, one sentence and one part."""
    if query.terms and query.terms == text.terms:
        return EXACT
    cosine = float(query.encoded.vector.astype(np.float64) @ text.encoded.vector)
    score = query.encoded.score
    context = score.share("sentence") * score.share_of_context("sentence")
    meaning, share = (1 - context) * span + context * cosine, text_share(query.words, words_of(text))
    together = Weights.of(query.words.length).scores(np.array([meaning]), np.array([share]))
    return min(float(together[0]), BELOW if query.terms else 1.0)


def words_of(query: HybridQuery) -> tuple[str, ...]:
    """The words of a query that is compared as a text, in any order."""
    return tuple(item.words[0] for item, count in query.words.items for _ in range(count))


def _span_score(query: HybridQuery, span: NamedSpan) -> float:
    view = span.located.view
    if is_occurrence(view, span.units, query.terms):
        return EXACT
    scorer = Scorer(snapshot_of(span), query, Selection(ALL))
    segment = next((each for each in scorer.segments if each.view is view), None)
    if segment is None:
        return -1.0
    first, last = np.searchsorted(segment.bounds, [span.units.start, span.units.end - 1], side="right") - 1
    scores = scorer.spans(segment, np.arange(first, last + 1))
    inside = (scores.starts >= segment.bounds[first]) & (scores.ends <= segment.bounds[last + 1])
    return float(scores.cosines[inside].max())


def _explanation(request: SearchRequest, query: HybridQuery, result: HybridSpan) -> HybridExplanation:
    place, unit, weights = result.place, request.offset_unit, query.encoded.weights
    terms, span = result.scorer.terms(result.scored)
    text = TextSpan(place.offset(span.start, unit), place.offset(span.end, unit), place.text(span)) if span else None
    score = sum(term.weight * term.value for term in terms)
    weighed = weights.explained(unit) if weights else None
    return HybridExplanation(score, terms, text, result.cosine - score, weighed)
