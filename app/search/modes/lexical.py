"""Mode ``lexical``: sentences by BM25, for words, "phrases" and prefixes*."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from app.requests import Mode, SearchRequest
from app.search.mode import Counts, Resources, Scored, SearchMode
from app.search.modes.best_span import check_span_choice
from app.search.sentences import ScoredSentence, across_sentences, counts_of, snapshot_of
from app.search.span_hits import present_spans
from app.search.types import Hit, LexicalExplanation, TextSpan, WordContribution
from indexer.engine.base import ScoredSpan
from indexer.engine.named_spans import NamedSpan
from indexer.engine.query import Selection
from indexer.engine.selection import ExactSpans, choose
from indexer.engine.snapshot import Snapshot
from indexer.tuning import Tuning
from indexer.types import Recipe
from indexer.words.bm25 import Bm25, SegmentWords, WordMatch, text_share
from indexer.words.literal import BELOW, EXACT, is_occurrence, joined
from indexer.words.occurrences import occurrences
from indexer.words.queries import WordQuery, read_query
from indexer.words.recipe import DETAILS, has_words
from models.errors import InvalidInput
from models.ops.similarity import raw_from_cosine
from models.text.folding import words
from models.text.stemming import Language
from models.types import CharSpan, UnitSpan

ADD_WORDS = "Run `spanseek optimize --words` once, which adds the words of its texts."


def stem_fingerprint(language: Language | None) -> str:
    """What stemming adds to the fingerprint of a score."""
    return f"+stems.{language}" if language else ""


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The words of a query, the words of its text, and the longest hit of its collection in units."""

    words: WordQuery
    terms: tuple[str, ...]
    longest: int


@dataclass(frozen=True, slots=True)
class LexicalSpan(ScoredSentence):
    """A sentence, or its units around the query's words, and what its score is made of."""

    matches: tuple[WordMatch, ...]
    highest: float
    highlights: tuple[CharSpan, ...]


class Lexical(SearchMode[LexicalQuery, LexicalQuery, LexicalSpan]):
    """Sentences, or whole clauses or parts, by the words that they share with the query."""

    name: Mode = "lexical"
    requirement = ADD_WORDS

    def available(self, recipe: Recipe) -> bool:
        """True if the collection has words."""
        return has_words(recipe)

    def fingerprint(self, recipe: Recipe) -> str:
        """The fingerprint of the words, and of their score."""
        return f"{DETAILS['fingerprint']}+bm25.v1"

    def score_fingerprint(self, request: SearchRequest, recipe: Recipe) -> str:
        """The same, with the language of stems."""
        return self.fingerprint(recipe) + stem_fingerprint(request.stemming)

    def read(self, request: SearchRequest, recipe: Recipe) -> LexicalQuery:
        """Read the words of a text. Vectors have none."""
        check_span_choice(request.spans, recipe.bounds)
        if request.text is None:
            raise InvalidInput(
                "Mode lexical searches for words, which a vector does not have.",
                hint="Give a text, or search in mode best_span.",
                field="vector",
            )
        if request.query_units is not None:
            raise InvalidInput(
                "The units of a text are counted, and cannot be given.",
                hint="Leave query_units out.",
                field="query_units",
            )
        longest = recipe.bounds.longest if request.spans.max_units is None else request.spans.max_units
        return LexicalQuery(read_query(request.text, request.stemming), words(request.text), longest)

    def encode(self, queries: Sequence[LexicalQuery], recipe: Recipe) -> list[LexicalQuery]:
        """The queries as they are."""
        return list(queries)

    def search(
        self, snapshot: Snapshot, queries: Sequence[LexicalQuery], selection: Selection
    ) -> list[list[LexicalSpan]]:
        """The best sentences for every query, or clauses or parts, as the selection's boundary says."""
        return [self._search(snapshot, query, selection) for query in queries]

    def _search(self, snapshot: Snapshot, query: LexicalQuery, selection: Selection) -> list[LexicalSpan]:
        bm25 = Bm25.in_snapshot(snapshot, query.words, selection.boundary or "sentence")
        spans = [_spans(bm25, segment, query, selection) for segment in bm25.segments]
        return [_explained(bm25, scored) for scored in choose(spans, selection)]

    def count(self, snapshot: Snapshot, query: LexicalQuery, floor: float | None, selection: Selection) -> Counts:
        """The best sentence of every document with a word of the query, and the sentences above the floor."""
        bm25 = Bm25.in_snapshot(snapshot, query.words, selection.boundary or "sentence")
        spans = [_spans(bm25, segment, query, selection) for segment in bm25.segments]
        return counts_of(spans, floor)

    def present(
        self, request: SearchRequest, query: LexicalQuery, results: list[LexicalSpan], tuning: Tuning
    ) -> tuple[Hit, ...]:
        """Hits with the query's words, explained by these if the request asks for it."""
        of_scored = {id(result.scored): result for result in results}
        hits = present_spans(
            request, [result.scored for result in results], tuning, lambda scored: _explanation(of_scored[id(scored)])
        )
        pairs = zip(hits, results, strict=True)
        return tuple(
            replace(hit, highlights=_highlights(request, result), match=_match(result)) for hit, result in pairs
        )

    def is_exact(self, query: LexicalQuery, scored: Scored) -> bool:
        """True for a sentence that holds the query's words in their order."""
        return scored.cosine == EXACT

    def text_cosines(
        self, queries: Sequence[LexicalQuery], texts: Sequence[LexicalQuery]
    ) -> Float[np.ndarray, " pairs"]:
        """The share of a text alone, without the weights that words have in a collection."""
        pairs = zip(queries, texts, strict=True)
        return np.array([2 * text_share(query.words, text.terms) - 1 for query, text in pairs], np.float64)

    def span_cosines(self, queries: Sequence[LexicalQuery], spans: Sequence[NamedSpan]) -> Float[np.ndarray, " spans"]:
        """The score of the best sentence that the span lies in or touches."""
        return np.array([2 * _share(queries[span.query], span) - 1 for span in spans], np.float64)


def create(resources: Resources) -> SearchMode[LexicalQuery, LexicalQuery, LexicalSpan]:
    """The mode."""
    return Lexical()


def _spans(bm25: Bm25, segment: SegmentWords, query: LexicalQuery, selection: Selection) -> ExactSpans:
    """The spans of a segment that may be selected."""
    mask = segment.view.allowed(selection.filter).mask
    starts, ends = segment.bounds[:-1], segment.bounds[1:]
    chosen = np.ones(len(starts), bool) if mask is None else mask[starts]
    if selection.boundary is None:
        shortest = selection.lengths.shortest if selection.lengths else None
        chosen &= ends - starts >= (shortest or 1)
    elif selection.lengths:
        chosen &= selection.lengths.contain(ends - starts)
    spans = bm25.spans(segment, _shares(bm25, segment, query), chosen, None if selection.boundary else query.longest)
    return spans if selection.boundary else joined(across_sentences(segment, query.terms, selection), spans)


def _shares(bm25: Bm25, segment: SegmentWords, query: LexicalQuery) -> Float[np.ndarray, " wholes"]:
    """The shares of all wholes: 1 for those that hold the query's words in their order, less for the others."""
    shares = np.minimum(bm25.shares(segment), raw_from_cosine(BELOW))
    starts, ends = occurrences(segment.view, query.terms)
    wholes = np.searchsorted(segment.bounds, starts, side="right") - 1
    shares[wholes[segment.bounds[wholes + 1] >= ends]] = 1.0
    return shares


def _explained(bm25: Bm25, scored: ScoredSpan) -> LexicalSpan:
    stored, units = scored.place.segment, scored.place.segment_units
    segment = next(each for each in bm25.segments if each.view.segment is stored)
    whole = int(np.searchsorted(segment.bounds, units.start, side="right")) - 1
    weights = segment.weights(np.ones(len(bm25.query.items)))
    marked = np.flatnonzero(weights[segment.stored.of_units[units.start : units.end]]) + units.start
    highlights = tuple(stored.char_span(UnitSpan(unit, unit + 1)) for unit in marked.tolist())
    return LexicalSpan(scored, tuple(bm25.matches(segment, whole)), bm25.highest, highlights)


def _explanation(span: LexicalSpan) -> LexicalExplanation:
    parts = tuple(
        WordContribution(match.item.text, match.count, match.weight, match.contribution) for match in span.matches
    )
    return LexicalExplanation(span.cosine, sum(part.contribution for part in parts), span.highest, parts)


def _match(result: LexicalSpan) -> Literal["exact"] | None:
    return "exact" if result.cosine == EXACT else None


def _highlights(request: SearchRequest, result: LexicalSpan) -> tuple[TextSpan, ...]:
    place, unit = result.place, request.offset_unit
    return tuple(
        TextSpan(place.offset(span.start, unit), place.offset(span.end, unit), place.text(span))
        for span in result.highlights
    )


def _share(query: LexicalQuery, span: NamedSpan) -> float:
    if is_occurrence(span.located.view, span.units, query.terms):
        return 1.0
    bm25 = Bm25.in_snapshot(snapshot_of(span), query.words)
    segment = next((each for each in bm25.segments if each.view is span.located.view), None)
    if segment is None:
        return 0.0
    first, last = np.searchsorted(segment.bounds, [span.units.start, span.units.end - 1], side="right") - 1
    return float(_shares(bm25, segment, query)[first : last + 1].max())
