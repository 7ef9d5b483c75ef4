"""Search for whole clauses, sentences and parts: exact, and free of the bounds of the collection's spans."""

import numpy as np
from jaxtyping import Float, Int

from indexer import kernels
from indexer.arrays import SpanTerms
from indexer.engine.base import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.selection import ExactSpans, choose
from indexer.engine.snapshot import SegmentView, Snapshot
from models.ops.span_score import SpanScore
from models.types import QueryVectors


def search_wholes(
    snapshot: Snapshot,
    queries: QueryVectors,
    selection: Selection,
    score: SpanScore,
    query_units: Int[np.ndarray, " queries"],
) -> list[list[ScoredSpan]]:
    """For every unit-length query its selected clauses, sentences or parts, as the selection's boundary says.

    Raises ``BordersMissing`` if a segment was written before borders were stored.
    """
    segments = [_scored(view, queries, selection, score, query_units) for view in snapshot.views]
    return [choose([of_segment[number] for of_segment in segments], selection) for number in range(len(queries))]


def _scored(
    view: SegmentView,
    queries: QueryVectors,
    selection: Selection,
    score: SpanScore,
    query_units: Int[np.ndarray, " queries"],
) -> list[ExactSpans]:
    """The wholes of a segment that may be selected, for every query."""
    starts, ends = _candidates(view, selection)
    cosines = kernels.whole_cosines(view.segment.arrays, starts, ends, queries)
    scores = cosines + _terms(view, starts, ends, score, query_units)
    return [_best(ExactSpans(view, starts, ends, of_query), selection) for of_query in scores]


def _candidates(
    view: SegmentView, selection: Selection
) -> tuple[Int[np.ndarray, " wholes"], Int[np.ndarray, " wholes"]]:
    """First and last unit, exclusive, of the wholes that lie in selected parts and have a selected length."""
    bounds = view.segment.wholes[selection.boundary or "part"]
    starts, ends = bounds[:-1], bounds[1:]
    mask = view.allowed(selection.filter).mask
    chosen = np.ones(len(starts), bool) if mask is None else mask[starts]
    if selection.lengths:
        chosen &= selection.lengths.contain(ends - starts)
    return starts[chosen], ends[chosen]


def _terms(
    view: SegmentView,
    starts: Int[np.ndarray, " wholes"],
    ends: Int[np.ndarray, " wholes"],
    score: SpanScore,
    query_units: Int[np.ndarray, " queries"],
) -> Float[np.ndarray, "queries wholes"]:
    """What is added to the cosines; lengths are not limited to those of the collection's spans."""
    lengths = ends - starts
    of_lengths = score.lengths(query_units, int(lengths.max(initial=0)))[:, lengths]
    borders = SpanTerms.of(score, np.zeros(1, np.int64))
    return of_lengths + borders.of_borders(view.segment.borders, starts, ends)


def _best(spans: ExactSpans, selection: Selection) -> ExactSpans:
    """The best ``top_k`` spans and those that tie with the last. Wholes do not overlap; groups need all of them."""
    if selection.group_by != "span" or len(spans.cosines) <= selection.top_k:
        return spans
    last = np.partition(spans.cosines, -selection.top_k)[-selection.top_k]
    return spans.take(np.flatnonzero(spans.cosines >= last))
