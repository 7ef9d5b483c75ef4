"""Mode ``hybrid``: sentences by meaning and by their words.

The score of a sentence is a convex combination of the score by which mode ``best_span`` ranks whole sentences
(``indexer.engine.whole_spans``), and of ``2 * share - 1`` of BM25. Both count the sentence and the part around it. A
search scores the sentences of the best spans and of the best BM25 scores; counts score all sentences.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float

from app.encoders.encoders import Encoders
from app.requests import SearchRequest
from app.search.answers import TextSpan
from app.search.mode import Accepts, BatchQuery, Countable, Mode, Needs, Presented
from app.search.modes.best_span import BestSpan
from app.search.modes.hybrid.scan import HybridScan, Near
from app.search.modes.hybrid.scorer import HybridExplanation, HybridQuery, Scorer, SegmentCounts, Weights
from app.search.modes.lexical import ADD_WORDS, stem_fingerprint
from app.search.span_queries import SpanQuery
from indexer.engine.named_spans import NamedSpan
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRow
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.types import Recipe
from indexer.words.bm25 import text_share
from indexer.words.queries import plain_query
from indexer.words.recipe import DETAILS, NAME
from models.errors import InvalidInput
from models.text.words import words

# Candidates among the best spans, and how many for every hit; half as many among the best BM25 scores.
_FEWEST: Final = 50
_A_HIT: Final = 2


class HybridHits(Presented[HybridQuery]):
    """Sentences, explained by the terms of their scores."""

    whole = "sentence"
    explanation = HybridExplanation

    def explain(
        self, request: SearchRequest, query: HybridQuery, span: ScoredSpan, total: SegmentCounts
    ) -> HybridExplanation | None:
        """The terms of the score."""
        scorer = Scorer.read(span.place.segment, query, request.spans.boundary)
        if scorer is None:
            return None
        place = span.place
        terms, best = scorer.terms(total, place.segment_units.start)
        score = sum(term.weight * term.value for term in terms)
        text = None if best is None else TextSpan.at(place, best, request.offset_unit)
        return HybridExplanation(score, terms, text, span.cosine - score)


class Hybrid(Mode[HybridQuery, HybridQuery]):
    """Sentences, or whole clauses or parts, by meaning and by words."""

    name = "hybrid"
    accepts = Accepts(stemming=True, ranking=True)
    needs = Needs(NAME, ADD_WORDS)
    presented = HybridHits()

    def __init__(self, encoders: Encoders) -> None:
        self.spans = BestSpan(encoders)

    @property
    def countable(self) -> "HybridCounting":
        """The counts and scores of sentences."""
        return HybridCounting(self)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprints of the encoder, its span score and the words."""
        return _fingerprint(self.spans.fingerprint(recipe))

    def load(self, recipe: Recipe) -> None:
        """Load the collection's encoder."""
        self.spans.load(recipe)

    def read(self, request: SearchRequest, recipe: Recipe) -> HybridQuery:
        """Tokenize a text with words."""
        terms = words(request.text or "", recipe.text)
        if not terms:
            raise InvalidInput("The query holds no words.", hint="Give at least one word.", field="text")
        return HybridQuery(self.spans.read(request, recipe), plain_query(terms, request.stemming))

    def encode(self, queries: Sequence[HybridQuery], recipe: Recipe) -> list[HybridQuery]:
        """The vector of every query; all share a forward pass."""
        spans = self.spans.encode([query.span for query in queries], recipe)
        return [replace(query, span=span) for query, span in zip(queries, spans, strict=True)]

    def segment_query(self, snapshot: Snapshot, queries: Sequence[HybridQuery], selection: Selection) -> BatchQuery:
        """The best sentences among the candidates of both sides; the best spans are searched for at once."""
        wider = Selection(max(_FEWEST, _A_HIT * selection.top_k), None, selection.group_by, selection.filter)
        spans = self.spans.segment_query(snapshot, [query.encoded for query in queries], wider)
        near = tuple(map(_near, search(snapshot, spans, wider, len(queries))))
        return HybridScan(tuple(queries), near, wider.top_k // 2)


class HybridCounting(Countable[HybridQuery]):
    """The counts and scores of sentences."""

    def __init__(self, mode: Hybrid) -> None:
        super().__init__(mode)
        self._spans = mode.spans.countable

    def score_fingerprint(self, request: SearchRequest, recipe: Recipe) -> str:
        """The same, for the ranking of the request and the language of stems."""
        return _fingerprint(self._spans.score_fingerprint(request, recipe)) + stem_fingerprint(request.stemming)

    def span_query(self, query: HybridQuery) -> SpanQuery:
        """The query for the best spans."""
        return query.encoded

    def counting_query(
        self, snapshot: Snapshot, query: HybridQuery, floor: float | None, selection: Selection
    ) -> BatchQuery:
        """All sentences."""
        return HybridScan((query,), None)

    def text_cosines(self, queries: Sequence[HybridQuery], texts: Sequence[HybridQuery]) -> Float[np.ndarray, " pairs"]:
        """The score of a text that is one span, one sentence and its words."""
        spans = self._spans.text_cosines([query.encoded for query in queries], [text.encoded for text in texts])
        triples = zip(queries, texts, spans.tolist(), strict=True)
        return np.array([_text_score(*triple) for triple in triples])

    def span_cosines(
        self, snapshot: Snapshot, queries: Sequence[HybridQuery], spans: Sequence[NamedSpan]
    ) -> Float[np.ndarray, " spans"]:
        """The score of the best sentence that the span lies in or touches."""
        counts = snapshot.map(HybridScan(tuple(queries), ({},) * len(queries))).total or []
        return np.array([_span_score(queries[span.query], counts[span.query], span) for span in spans], np.float64)


def _near(spans: Sequence[SpanRow]) -> Near:
    by_segment: defaultdict[str, list[int]] = defaultdict(list)
    for span in spans:
        by_segment[span.segment].append(span.start)
    return {name: np.array(starts, np.int64) for name, starts in by_segment.items()}


def _fingerprint(spans: str) -> str:
    return f"{spans}+{DETAILS['fingerprint']}+hybrid.v2"


def _text_score(query: HybridQuery, text: HybridQuery, span: float) -> float:
    """The score of a text that is one span, one sentence and one part."""
    cosine = float(query.encoded.vector.astype(np.float64) @ text.encoded.vector)
    score = query.encoded.score
    context = score.share("sentence") * score.share_of_context("sentence")
    meaning, share = (1 - context) * span + context * cosine, text_share(query.words, words_of(text))
    together = Weights.of(query.words.length).scores(np.array([meaning]), np.array([share]))
    return min(float(together[0]), 1.0)


def words_of(query: HybridQuery) -> tuple[str, ...]:
    """The words of a query that is compared as a text, in any order."""
    return tuple(item.words[0] for item, count in query.words.items for _ in range(count))


def _span_score(query: HybridQuery, counts: SegmentCounts, span: NamedSpan) -> float:
    scorer = Scorer.read(span.located.view.segment, query, None)
    if scorer is None:
        return -1.0
    first, last = scorer.words.whole_of(span.units.start), scorer.words.whole_of(span.units.end - 1)
    return float(scorer.rows(counts, np.arange(first, last + 1)).cosines.max())
