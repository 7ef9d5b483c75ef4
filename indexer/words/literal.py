"""The literal floor: occurrences of a query's own words rank before everything that is found by meaning.

An occurrence scores ``EXACT``, and everything else less. Results are the occurrences, and of what a search finds
without them the spans that overlap none; so it holds for every engine, for counts and for saved phrases alike.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from indexer.engine.base import ScoredSpan
from indexer.engine.exhaustive_count import SpanCount
from indexer.engine.query import Filter, Selection
from indexer.engine.selection import ExactSpans, choose, selected_rows
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.words.occurrences import occurrences
from indexer.words.representation import stored_words
from models.types import UnitSpan

EXACT: Final = 1.0
# The most that anything else scores: raw is then less than 1, in double precision.
BELOW: Final = 1 - 2.0**-40
_ALL: Final = 2**62

Terms = tuple[str, ...]
# Searches for some of the queries, by number.
Search = Callable[[Sequence[int], Selection], list[list[ScoredSpan]]]


def literal_spans(view: SegmentView, terms: Terms, selection: Selection) -> ExactSpans:
    """The occurrences of a query's words in a segment that a selection allows, by rising start.

    Of a selection with a boundary the whole clauses, sentences or parts that hold one.
    """
    starts, ends = occurrences(view, terms)
    if selection.boundary and len(starts):
        bounds = view.segment.wholes[selection.boundary]
        rows = np.searchsorted(bounds, starts, side="right") - 1
        rows = np.unique(rows[bounds[rows + 1] >= ends])
        starts, ends = bounds[rows], bounds[rows + 1]
    mask = view.allowed(selection.filter).mask
    chosen = np.ones(len(starts), bool) if mask is None else mask[starts]
    if selection.lengths:
        chosen &= selection.lengths.contain(ends - starts)
    return ExactSpans(view, starts[chosen], ends[chosen], np.full(int(chosen.sum()), EXACT))


def search_with_floor(
    snapshot: Snapshot, queries: Sequence[Terms], selection: Selection, search: Search
) -> list[list[ScoredSpan]]:
    """For every query its selected occurrences, and after them what ``search`` finds beside them.

    ``search`` is not called for a query with enough occurrences, and for more results than selected if occurrences
    take the place of some.
    """
    literal = [
        choose([literal_spans(view, terms, selection) for view in snapshot.views], selection) for terms in queries
    ]
    results = list(literal)
    left = [number for number, spans in enumerate(literal) if len(spans) < selection.top_k]
    top_k = selection.top_k + 2 * max((len(literal[number]) for number in left), default=0)
    while left:
        wider = replace(selection, top_k=top_k)
        incomplete: list[int] = []
        for number, spans in zip(left, search(left, wider), strict=True):
            others = _beside(spans, literal[number], selection)
            results[number] = (literal[number] + others)[: selection.top_k]
            if len(results[number]) < selection.top_k and len(spans) == top_k:
                incomplete.append(number)
        left, top_k = incomplete, 2 * top_k
    return results


def wholes_with_floor(wholes: ExactSpans, terms: Terms, selection: Selection) -> ExactSpans:
    """The wholes of a segment, of which those that hold an occurrence are exact."""
    exact = literal_spans(wholes.view, terms, selection)
    return joined(exact, _below(wholes.take(np.flatnonzero(~np.isin(wholes.starts, exact.starts)))))


def count_with_floor(snapshot: Snapshot, count: SpanCount, terms: Terms, selection: Selection) -> SpanCount:
    """A count with occurrences, as :func:`search_with_floor` finds them."""
    literal = [_disjoint(literal_spans(view, terms, selection)) for view in snapshot.views]
    of_documents = Selection(_ALL, None, "document")
    pairs = [joined(occurring, _below(best)) for occurring, best in zip(literal, count.best, strict=True)]
    best = [spans.take(selected_rows(spans, of_documents)) for spans in pairs]
    if count.above is None:
        return SpanCount(best, None)
    return SpanCount(best, [_beside_rows(spans, above) for spans, above in zip(literal, count.above, strict=True)])


def spans_with_floor(
    view: SegmentView,
    spans: Iterator[tuple[int, ExactSpans]],
    queries: Sequence[Terms],
    floors: Float[np.ndarray, " queries"],
    filters: Sequence[Filter],
) -> Iterator[tuple[int, ExactSpans]]:
    """The spans of many queries over their floors in one segment, with occurrences; nothing reaches infinity."""
    if stored_words(view.segment) is None:
        yield from spans
        return
    literal = {
        number: _disjoint(literal_spans(view, terms, Selection(_ALL, filter=filters[number])))
        for number, terms in enumerate(queries)
        if terms and np.isfinite(floors[number])
    }
    for number, found in spans:
        occurring = literal.pop(number, None)
        yield number, found if occurring is None else _beside_rows(occurring, found)
    for number, occurring in literal.items():
        if len(occurring.starts):
            yield number, occurring


def is_occurrence(view: SegmentView, units: UnitSpan, terms: Terms) -> bool:
    """True if a span is an occurrence of a query's words: it begins and ends with a word, and has no others."""
    stored = stored_words(view.segment)
    if stored is None or not terms:
        return False
    of_units = stored.of_units[units.start : units.end]
    numbers = [stored.number(term) for term in terms]
    return bool(of_units[0] and of_units[-1]) and of_units[of_units > 0].tolist() == numbers


def _disjoint(spans: ExactSpans) -> ExactSpans:
    """Spans of one score without overlaps, by rising start: of overlapping ones the first."""
    return spans.take(np.sort(selected_rows(spans, Selection(_ALL))))


def _overlapping(spans: ExactSpans, literal: ExactSpans) -> Bool[np.ndarray, " spans"]:
    """The spans that share a unit with one of these, which do not overlap and rise."""
    if not len(literal.starts):
        return np.zeros(len(spans.starts), bool)
    after = np.searchsorted(literal.ends, spans.starts, side="right")
    starts = np.append(literal.starts, np.iinfo(np.int64).max)
    return starts[after] < spans.ends


def _beside_rows(literal: ExactSpans, spans: ExactSpans) -> ExactSpans:
    """Occurrences, and the spans that overlap none of them."""
    return joined(literal, _below(spans.take(np.flatnonzero(~_overlapping(spans, literal)))))


def joined(literal: ExactSpans, spans: ExactSpans) -> ExactSpans:
    """Occurrences, and other spans of the segment."""
    pairs = ((literal.starts, spans.starts), (literal.ends, spans.ends))
    starts, ends = (np.concatenate(pair) for pair in pairs)
    return ExactSpans(spans.view, starts, ends, np.concatenate([literal.cosines, spans.cosines]))


def _below(spans: ExactSpans) -> ExactSpans:
    return replace(spans, cosines=below(spans.cosines))


def below(scores: Float[np.ndarray, " spans"]) -> Float[np.ndarray, " spans"]:
    """Scores of what is no occurrence.

    >>> below(np.array([0.5, 1.0])).tolist() == [0.5, BELOW]
    True
    """
    return np.minimum(scores, BELOW)


def _beside(spans: list[ScoredSpan], literal: list[ScoredSpan], selection: Selection) -> list[ScoredSpan]:
    """Spans that overlap no occurrence, and are of no document or part that an occurrence stands for."""
    rising: dict[int, tuple[Int[np.ndarray, " spans"], Int[np.ndarray, " spans"]]] = {}
    for key in {id(span.place.segment) for span in literal}:
        units = sorted(span.place.segment_units for span in literal if id(span.place.segment) == key)
        rising[key] = np.array([each.start for each in units]), np.array([each.end for each in units])
    groups = {_group(span, selection) for span in literal} if selection.group_by != "span" else set()

    def is_beside(span: ScoredSpan) -> bool:
        if groups:
            return _group(span, selection) not in groups
        segment, units = span.place.segment, span.place.segment_units
        if id(segment) not in rising:
            return True
        starts, ends = rising[id(segment)]
        after = int(np.searchsorted(ends, units.start, side="right"))
        return after == len(starts) or int(starts[after]) >= units.end

    return [replace(span, cosine=min(span.cosine, BELOW)) for span in spans if is_beside(span)]


def _group(span: ScoredSpan, selection: Selection) -> tuple[str, int]:
    return span.document_id, span.place.part_span.start if selection.group_by == "part" else 0
