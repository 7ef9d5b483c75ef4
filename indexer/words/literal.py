"""The literal floor: occurrences of a query's own words rank before everything that is found by meaning.

An occurrence scores ``EXACT``, and everything else less. Where hits are whole sentences or documents, those that hold
an occurrence do; else hits are the occurrences, and of what a search finds without them the spans that overlap none. So
it holds for every mode, for counts and for saved phrases alike. A part of another word's compound is no occurrence:
``exclusive licence`` in ``non-exclusive licence``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from indexer.engine.executor import SegmentQuery
from indexer.engine.query import EVERYTHING, Filter, Selection
from indexer.engine.rows import SpanRows, no_rows
from indexer.engine.selection import selected_rows
from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from indexer.words.compounds import within_compounds
from indexer.words.occurrences import occurrences
from indexer.words.representation import stored_words
from models.text.borders import Boundary
from models.text.units import OLDEST
from models.types import UnitSpan

EXACT: Final = 1.0
# The most that anything else scores: raw is then less than 1, in double precision.
BELOW: Final = 1 - 2.0**-40

Terms: TypeAlias = tuple[str, ...]
# What is a hit where an occurrence is: the occurrence itself, the whole span or the document around it.
LiteralUnit: TypeAlias = Literal["span", "document"] | Boundary


class LiteralRows(NamedTuple):
    """The whole spans or documents that hold an occurrence, and the occurrences that are hits themselves."""

    whole_spans: SpanRows
    spans: SpanRows

    def applied(self, rows: SpanRows, selection: Selection) -> SpanRows:
        """Apply the literal floor to rows of a search: whole spans or documents that hold an occurrence become exact.

        Whole spans that the search did not find are added if the selection allows their length.
        """
        starts, ends = self.whole_spans.starts, self.whole_spans.ends
        at = np.searchsorted(starts, rows.starts, side="right") - 1
        exact = (at >= 0) & (rows.starts < np.append(ends, 0)[at])
        scored = rows.scored(np.where(exact, EXACT, below(rows.cosines)))
        missing = ~np.isin(np.arange(len(starts)), at[exact])
        if selection.lengths:
            missing &= selection.lengths.contain(ends - starts)
        return self.spans.beside(self.whole_spans.take(missing)).beside(scored)

    def beside(self, rows: SpanRows) -> SpanRows:
        """The occurrences, which do not overlap, and the spans of a search that overlap none."""
        after = np.searchsorted(self.spans.ends, rows.starts, side="right")
        starts = np.append(self.spans.starts, np.iinfo(np.int64).max)
        left = rows.take(starts[after] >= rows.ends)
        return self.spans.beside(left.scored(below(left.cosines)))


@dataclass(frozen=True, slots=True)
class Occurrences(SegmentQuery[None, list[LiteralRows]]):
    """The places where the folded words of texts stand in their order, for the hits of each.

    ``unit`` is what a hit is. With ``across`` an occurrence that no whole span holds is a hit, too.
    """

    queries: tuple[Terms, ...]
    unit: LiteralUnit
    across: bool = False

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[LiteralRows]:
        """The occurrences of every query in a segment, by rising start."""
        return [self._of(view, terms, selection) for terms in self.queries]

    def _of(self, view: SegmentView, terms: Terms, selection: Selection) -> LiteralRows:
        found, none = _allowed(view, terms, selection), no_rows(view.name)
        if self.unit == "span":
            return LiteralRows(none, _disjoint(view.segment, _of_length(found, selection)))
        if not len(found):
            return LiteralRows(none, none)
        bounds = view.segment.document_units if self.unit == "document" else view.segment.whole_spans[self.unit]
        rows = np.searchsorted(bounds, found.starts, side="right") - 1
        inside = bounds[rows + 1] >= found.ends
        rows = np.unique(rows[inside])
        whole_spans = _exact(view, bounds[rows].astype(np.int64), bounds[rows + 1].astype(np.int64))
        return LiteralRows(whole_spans, _of_length(found.take(~inside), selection) if self.across else none)


def spans_with_floor(
    view: SegmentView,
    spans: Iterator[tuple[int, SpanRows]],
    queries: Sequence[Terms],
    floors: Float[np.ndarray, " queries"],
    filters: Sequence[Filter],
) -> Iterator[tuple[int, SpanRows]]:
    """The spans of many queries over their floors in one segment, with occurrences; nothing reaches infinity."""
    if stored_words(view.segment) is None:
        yield from spans
        return
    literal = {
        number: Occurrences((terms,), "span").rows(view, None, Selection(filter=filters[number]))[0]
        for number, terms in enumerate(queries)
        if terms and floors[number] < np.inf
    }
    for number, found in spans:
        occurring = literal.pop(number, None)
        yield number, found if occurring is None else occurring.beside(found)
    for number, occurring in literal.items():
        if len(occurring.spans):
            yield number, occurring.spans


def is_occurrence(segment: Segment, units: UnitSpan, terms: Terms) -> bool:
    """True if a span is an occurrence of a query's words: it begins and ends with a word, and has no others."""
    stored = stored_words(segment)
    if stored is None or not terms:
        return False
    of_units = stored.of_units[units.start : units.end]
    numbers = [stored.number(term) for term in terms]
    is_literal = bool(of_units[0] and of_units[-1]) and of_units[of_units > 0].tolist() == numbers
    return is_literal and bool(_apart(segment, np.array([units.start]), np.array([units.end]))[0])


def below(scores: Float[np.ndarray, " spans"]) -> Float[np.ndarray, " spans"]:
    """Scores of what is no occurrence.

    >>> below(np.array([0.5, 1.0])).tolist() == [0.5, BELOW]
    True
    """
    return np.minimum(scores, BELOW)


def holds(text: Terms, terms: Terms) -> bool:
    """True if a text's words hold a query's, in their order and without gaps.

    >>> holds(("cancel", "my", "plan"), ("my", "plan")), holds(("my", "old", "plan"), ("my", "plan")), holds((), ())
    (True, False, False)
    """
    size = len(terms)
    return bool(terms) and any(text[start : start + size] == terms for start in range(len(text) - size + 1))


def _allowed(view: SegmentView, terms: Terms, selection: Selection) -> SpanRows:
    """The occurrences that a filter allows, by rising start; they may overlap."""
    starts, ends = occurrences(view.segment, terms)
    mask = view.allowed(selection.filter).mask if len(starts) else None
    if mask is not None:
        starts, ends = starts[mask[starts]], ends[mask[starts]]
    apart = _apart(view.segment, starts, ends)
    return _exact(view, starts[apart], ends[apart])


def _apart(
    segment: Segment, starts: Int[np.ndarray, " spans"], ends: Int[np.ndarray, " spans"]
) -> Bool[np.ndarray, " spans"]:
    """True for occurrences that are no part of another word's compound; in collections of before, for all."""
    if segment.recipe.text == OLDEST:
        return np.ones(len(starts), bool)
    return ~within_compounds(segment, starts, ends)


def _exact(view: SegmentView, starts: Int[np.ndarray, " spans"], ends: Int[np.ndarray, " spans"]) -> SpanRows:
    return SpanRows(view.name, starts, ends, np.full(len(starts), EXACT))


def _of_length(rows: SpanRows, selection: Selection) -> SpanRows:
    return rows.take(selection.lengths.contain(rows.ends - rows.starts)) if selection.lengths else rows


def _disjoint(segment: Segment, spans: SpanRows) -> SpanRows:
    """Spans of one score without overlaps, by rising start: of overlapping ones the first."""
    return spans.take(np.sort(selected_rows(segment, spans, Selection(EVERYTHING))))
