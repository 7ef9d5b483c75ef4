"""Search for whole clauses, sentences and parts: exact, and free of the bounds of the collection's spans.

A whole span is ranked by its own span score and its best span's (``SpanScore.share``): a long sentence that
says it in passing has a span that says it. The part around a clause or sentence tells its topic
(``SpanScore.share_of_context``): "It was built in 1998." does not.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int

from indexer import kernels
from indexer.arrays import BLOCK, EXCLUDED, SpanTerms
from indexer.engine.executor import SegmentQuery
from indexer.engine.place import Place
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRows
from indexer.engine.scan import code_queries, errors, kth_group
from indexer.engine.selection import owners
from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from models.ops.span_score import SpanScore
from models.text.borders import Boundary
from models.types import CharSpan, QueryVectors, UnitSpan

# For each whole span: the exact score of its best span, that span in units, and its own exact cosine.
BestSpans = tuple[Float64[np.ndarray, " rows"], Int[np.ndarray, "rows 2"], Float64[np.ndarray, " rows"]]

# Whole spans whose best spans are scored exactly at first, for every one that is asked for.
_AT_FIRST = 4


@dataclass(frozen=True, slots=True)
class WholeSpans(SegmentQuery[None, list[SpanRows]]):
    """The best clauses, sentences or parts for unit-length queries, as the selection's boundary says.

    ``units`` are the queries' numbers of units. Raises ``BordersMissing`` for a segment written before borders were
    stored.
    """

    vectors: QueryVectors
    score: SpanScore
    units: Int[np.ndarray, " queries"]

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """The whole spans of a segment that may be selected, for every query."""
        starts, ends = selected_whole_spans(view, selection)
        cosines = kernels.whole_cosines(view.segment.arrays, starts, ends, self.vectors)
        scores = cosines + _terms(view.segment, starts, ends, self.score, self.units)
        context = self.score.share_of_context(selection.boundary or "part")
        if context and len(starts):
            scores = (1 - context) * scores + context * _part_cosines(view.segment, starts, self.vectors)
        whole_spans = [SpanRows(view.name, starts, ends, of_query) for of_query in scores]
        share = self.score.share(selection.boundary or "part")
        if share == 1 or not len(starts):
            return [_best(of_query, selection) for of_query in whole_spans]
        terms = SpanTerms.of(self.score, self.units)
        return [
            BestWithin(view, of_query, query, terms.of_query(number), selection, share).select()
            for number, (of_query, query) in enumerate(zip(whole_spans, self.vectors, strict=True))
        ]


@dataclass(frozen=True, slots=True)
class WholeSpanCounts(SegmentQuery[None, list[SpanRows]]):
    """All selected clauses, sentences or parts with their scores for one unit-length query."""

    vector: Float32[np.ndarray, " dim"]
    score: SpanScore
    units: int

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """The whole spans of a segment."""
        starts, ends = selected_whole_spans(view, selection)
        boundary = selection.boundary or "part"
        scored = score_whole_spans(view.segment, starts, ends, self.vector, self.units, self.score, boundary)
        return [SpanRows(view.name, starts, ends, scored.scores)]


class BestWithin:
    """Whole spans of a segment for one query, and bounds on what they and their best spans score together.

    Best spans lie within the bounds of the collection's spans. A whole span too short for any counts alone.
    """

    def __init__(
        self,
        view: SegmentView,
        whole_spans: SpanRows,
        query: Float32[np.ndarray, " dim"],
        terms: SpanTerms,
        selection: Selection,
        share: float,
    ) -> None:
        self._view, self._whole_spans, self._query, self._terms = view, whole_spans, query, terms
        self._selection, self._share = selection, share
        approximate, error = self._approximate()
        firsts = np.stack([whole_spans.starts, whole_spans.ends], axis=1).reshape(-1)
        upper = np.maximum.reduceat(np.append(approximate + error, -np.inf), firsts)[::2]
        self._bounds = np.where(upper > -np.inf, self._together(whole_spans.cosines, upper), whole_spans.cosines)

    def select(self) -> SpanRows:
        """The whole spans that may be selected, with exact scores."""
        order = np.argsort(-self._bounds, kind="stable")
        count = min(len(order), _AT_FIRST * self._selection.top_k)
        while True:
            rows = order[:count]
            scores = self._exact(rows)
            if count == len(order) or self._is_complete(rows, scores, float(self._bounds[order[count]])):
                return self._whole_spans.take(rows).scored(scores)
            count = min(len(order), _AT_FIRST * count)

    def _is_complete(self, rows: Int[np.ndarray, " rows"], scores: Float[np.ndarray, " rows"], bound: float) -> bool:
        """True if no whole span that scores at most ``bound`` can be selected beside these."""
        groups = self._groups(self._whole_spans.starts[rows])
        last = kth_group(scores, groups, self._selection.top_k)
        return bound < max(last, -np.inf if self._selection.floor is None else self._selection.floor)

    def _groups(self, starts: Int[np.ndarray, " rows"]) -> Int[np.ndarray, " rows"]:
        if self._selection.group_by == "span":
            return starts
        return owners(self._view.segment, starts, self._selection)

    def _together(
        self, whole_spans: Float[np.ndarray, " rows"], spans: Float[np.ndarray, " rows"]
    ) -> Float[np.ndarray, " rows"]:
        return self._share * whole_spans + (1 - self._share) * spans

    def _approximate(self) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, " units"]]:
        """For every start the best approximate score, -inf where no span starts, and what it may be off by."""
        view = self._view
        terms = self._terms
        if self._selection.boundary == "sentence":
            terms = terms._replace(crossing=np.full(1, 2 * EXCLUDED))
        coded = code_queries(self._query[None], terms=terms)
        blocks = np.arange(len(view.segment.norm_errors))
        best = kernels.best_of_starts(
            view.segment.arrays, coded.codes[0], coded.steps[0], coded.terms, blocks, None
        ).astype(np.float64)
        error = np.repeat(errors(view, blocks, coded.slack), BLOCK)[: len(best)]
        return np.where(best > EXCLUDED, best, -np.inf), error

    def _exact(self, rows: Int[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """The exact scores of whole spans and their best spans together."""
        whole_spans, segment = self._whole_spans, self._view.segment
        starts, ends, alone = whole_spans.starts[rows], whole_spans.ends[rows], whole_spans.cosines[rows]
        best, _, _ = best_within(segment, starts, ends, self._query, self._terms)
        return np.where(best > EXCLUDED, self._together(alone, best), alone)


@dataclass(frozen=True, slots=True)
class WholeSpanScores:
    """The exact scores of whole clauses, sentences or parts for one query, row by row, and what they are made of.

    ``own`` is the cosine of the whole span with the terms of its length and borders, ``part`` the cosine of the part
    around, ``best`` the score of the best span, and ``spans`` that span in units. A whole span without a span counts
    alone.
    """

    own: Float[np.ndarray, " rows"]
    part: Float[np.ndarray, " rows"]
    best: Float[np.ndarray, " rows"]
    spans: Int[np.ndarray, "rows 2"]
    share: float
    share_of_context: float

    @property
    def has_span(self) -> Bool[np.ndarray, " rows"]:
        """True where a span fits into the whole span, and counts."""
        return (self.best > EXCLUDED) & (self.share < 1)

    @property
    def scores(self) -> Float[np.ndarray, " rows"]:
        """The scores by which :class:`WholeSpans` ranks."""
        context = self.share_of_context
        alone = (1 - context) * self.own + context * self.part
        return np.where(self.has_span, self.share * alone + (1 - self.share) * self.best, alone)


def score_whole_spans(
    segment: Segment,
    starts: Int[np.ndarray, " rows"],
    ends: Int[np.ndarray, " rows"],
    query: Float32[np.ndarray, " dim"],
    units: int,
    score: SpanScore,
    boundary: Boundary,
) -> WholeSpanScores:
    """Score some whole spans of a segment for a unit-length query of ``units`` units."""
    counts = np.array([units])
    best, spans, cosines = best_within(segment, starts, ends, query, SpanTerms.of(score, counts))
    own, context = cosines + _terms(segment, starts, ends, score, counts)[0], score.share_of_context(boundary)
    part = _part_cosines(segment, starts, query[None])[0] if context else np.zeros(len(starts))
    return WholeSpanScores(own, part, best, spans, score.share(boundary), context)


def best_within(
    segment: Segment,
    starts: Int[np.ndarray, " whole_spans"],
    ends: Int[np.ndarray, " whole_spans"],
    query: Float32[np.ndarray, " dim"],
    terms: SpanTerms,
) -> BestSpans:
    """The best span within every whole span, its exact score for one query, and the exact cosine of the whole span."""
    longest = segment.recipe.bounds.longest
    return kernels.best_in_whole_spans(
        segment.arrays, starts.astype(np.int64), ends.astype(np.int64), longest, query, terms
    )


def best_span_within(
    whole: Place, query: Float32[np.ndarray, " dim"], terms: SpanTerms
) -> tuple[CharSpan, float] | None:
    """The characters and the exact score of the best span within a whole span; None where no span fits."""
    segment, units = whole.segment, whole.segment_units
    scores, spans, _ = best_within(segment, np.array([units.start]), np.array([units.end]), query, terms)
    if scores[0] <= EXCLUDED:
        return None
    return segment.char_span(UnitSpan(*spans[0].tolist())), float(scores[0])


def selected_whole_spans(
    view: SegmentView, selection: Selection
) -> tuple[Int[np.ndarray, " whole_spans"], Int[np.ndarray, " whole_spans"]]:
    """First and last unit, exclusive, of the whole spans that lie in selected parts and have a selected length."""
    bounds = view.segment.whole_spans[selection.boundary or "part"]
    starts, ends = bounds[:-1], bounds[1:]
    selected = view.selects(starts, ends, selection)
    return starts[selected], ends[selected]


def _terms(
    segment: Segment,
    starts: Int[np.ndarray, " whole_spans"],
    ends: Int[np.ndarray, " whole_spans"],
    score: SpanScore,
    query_units: Int[np.ndarray, " queries"],
) -> Float[np.ndarray, "queries whole_spans"]:
    """The terms added to the cosines; lengths are not limited to the collection's."""
    lengths = ends - starts
    of_lengths = score.lengths(query_units, int(lengths.max(initial=0)))[:, lengths]
    borders = SpanTerms.of(score, np.zeros(1, np.int64))
    return of_lengths + borders.of_borders(segment.borders, starts, ends)


def _part_cosines(
    segment: Segment, starts: Int[np.ndarray, " whole_spans"], queries: QueryVectors
) -> Float[np.ndarray, "queries whole_spans"]:
    """The cosine of the part that each whole span lies in."""
    bounds = segment.part_units
    parts, of_whole_spans = np.unique(np.searchsorted(bounds, starts, side="right") - 1, return_inverse=True)
    cosines = kernels.whole_cosines(segment.arrays, bounds[parts], bounds[parts + 1], queries)
    return cosines[:, of_whole_spans]


def _best(spans: SpanRows, selection: Selection) -> SpanRows:
    """The best ``top_k`` spans and those that tie with the last. They do not overlap; groups need all of them."""
    if selection.group_by != "span" or len(spans.cosines) <= selection.top_k:
        return spans
    last = np.partition(spans.cosines, -selection.top_k)[-selection.top_k]
    return spans.take(np.flatnonzero(spans.cosines >= last))
