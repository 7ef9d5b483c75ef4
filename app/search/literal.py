"""The literal floor, one stage of the service for all modes: what holds a query's own words ranks first, as exact.

``indexer.words.literal`` has its rules for the rows of a segment, which saved phrases share.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from app.requests import SearchRequest
from app.search.answers import Arranged, KeyCounts
from app.search.mode import AnyMode, BatchQuery, Counts, Mode, Query, Scored, ScoredRows, selection_of
from indexer.engine.named_spans import NamedSpan
from indexer.engine.place import ScoredSpan
from indexer.engine.query import EVERYTHING, Selection
from indexer.engine.rows import SpanRow, SpanRows, no_rows
from indexer.engine.selection import best_of_documents, choose, over_floor
from indexer.engine.snapshot import Snapshot
from indexer.types import Recipe
from indexer.words.literal import BELOW, EXACT, LiteralRows, LiteralUnit, Occurrences, Terms, is_occurrence
from indexer.words.recipe import has_words
from models.text.words import words


@dataclass(frozen=True, slots=True)
class RankedRows:
    """The results of one query, best first, as rows of segments, and its part of the total of all segments.

    If they were arranged (``app.search.aggregation.stage``), ``copies`` has the number of results that each stands for.
    """

    rows: list[SpanRow]
    total: Any
    copies: Mapping[SpanRow, int] | None = None
    arranged: Arranged | None = None
    counts: tuple[KeyCounts, ...] | None = None

    def __len__(self) -> int:
        return len(self.rows)


def terms_of(mode: AnyMode, request: SearchRequest, recipe: Recipe) -> Terms:
    """The folded words of a request whose occurrences rank first; none where the floor does not apply."""
    by_cosine = request.ranking == "cosine" and mode.accepts.ranking
    if request.text is None or by_cosine or not mode.presented.is_literal or not has_words(recipe):
        return ()
    return words(request.text, recipe.text)


def search(
    snapshot: Snapshot,
    mode: Mode[Any, Query],
    queries: Sequence[Query],
    terms: Sequence[Terms],
    selection: Selection,
    *,
    exhaustive: bool = False,
) -> list[RankedRows]:
    """The results of every query: those with its own words, and after them what the mode finds.

    ``exhaustive`` computes the same in the way that suits many queries whose results over the floor are all wanted.
    """
    query_of = partial(mode.countable.exhaustive_query if exhaustive else mode.segment_query, snapshot)
    literal = _occurrences(snapshot, mode, terms, selection) if any(terms) else None
    if literal and _unit(mode, selection) == "span" and selection.group_by == "span":
        return _beside(snapshot, query_of, queries, terms, selection, literal)
    mapped = snapshot.map(query_of(queries, selection), selection)
    found = []
    for number in range(len(queries)):
        parts = [rows[number] for rows in mapped.parts]
        if literal and terms[number]:
            parts = [of[number].applied(rows, selection) for of, rows in zip(literal, parts, strict=True)]
        found.append(RankedRows(choose(snapshot, parts, selection), mapped.total_of(number)))
    return found


def _beside(
    snapshot: Snapshot,
    query_of: Callable[[Sequence[Query], Selection], BatchQuery],
    queries: Sequence[Query],
    terms: Sequence[Terms],
    selection: Selection,
    literal: Sequence[Sequence[LiteralRows]],
) -> list[RankedRows]:
    """Free spans: the occurrences, and of the spans that a search finds without them those that overlap none.

    The search is left out for a query with enough occurrences, and wider than the selection if occurrences take the
    place of some of its spans.
    """
    results = [
        RankedRows(choose(snapshot, [rows[number].spans for rows in literal], selection), None)
        for number in range(len(queries))
    ]
    left = [number for number, found in enumerate(results) if len(found) < selection.top_k]
    top_k = selection.top_k + 2 * max((len(results[number]) for number in left), default=0)
    while left:
        wider = replace(selection, top_k=top_k)
        mapped = snapshot.map(query_of([queries[number] for number in left], wider), wider)
        incomplete: list[int] = []
        for at, number in enumerate(left):
            found = choose(snapshot, [rows[at] for rows in mapped.parts], wider)
            is_complete = len(found) < top_k
            if terms[number]:
                parts = (of[number].beside(rows) for of, rows in zip(literal, _parts(snapshot, found), strict=True))
                found = choose(snapshot, list(parts), selection)
            results[number] = RankedRows(found[: selection.top_k], mapped.total_of(at))
            if len(found) < selection.top_k and not is_complete:
                incomplete.append(number)
        left, top_k = incomplete, 2 * top_k
    return results


def count(
    snapshot: Snapshot, mode: Mode[Any, Query], query: Query, terms: Terms, floor: float | None, selection: Selection
) -> Counts:
    """The best result of every document, and the spans over the floor, scored as :func:`search` scores them."""
    parts = snapshot.map(mode.countable.counting_query(snapshot, query, floor, selection), selection).parts
    literal = [of for (of,) in _occurrences(snapshot, mode, [terms], selection)] if terms else [None] * len(parts)
    is_free = _unit(mode, selection) == "span"
    best: list[SpanRows] = []
    above: list[SpanRows] = []
    for rows, of in zip(parts, literal, strict=True):
        segment, is_selected = snapshot.segment(rows[0].segment), len(rows) == 2
        if of is not None:
            others = of.beside(rows[-1]) if is_free else of.applied(rows[-1], selection)
            rows = [of.applied(rows[0], selection), others]
        best.append(rows[0] if is_selected and of is None else best_of_documents(segment, rows[0]))
        if floor is not None:
            above.append(rows[-1] if is_selected else over_floor(segment, rows[-1], floor))
    has_spans = floor is not None and mode.presented.unit == "span"
    documents = _scored_rows(snapshot, mode, best, terms)
    return Counts(documents, _scored_rows(snapshot, mode, above, terms) if has_spans else None)


def text_cosines(
    mode: Mode[Any, Query], queries: Sequence[Query], texts: Sequence[Query], terms: Sequence[tuple[Terms, Terms]]
) -> Float[np.ndarray, " pairs"]:
    """The cosine of every query with a text of its own; ``terms`` are the words of both."""
    cosines = mode.countable.text_cosines(queries, texts)
    for row, (of_query, of_text) in enumerate(terms):
        if of_query:
            cosines[row] = EXACT if mode.countable.is_literal_text(of_text, of_query) else min(cosines[row], BELOW)
    return cosines


def span_cosines(
    snapshot: Snapshot,
    mode: Mode[Any, Query],
    queries: Sequence[Query],
    spans: Sequence[NamedSpan],
    terms: Sequence[Terms],
) -> Float[np.ndarray, " spans"]:
    """The cosine of every stored span, or of the whole span around it, with the query that it names."""
    cosines = mode.countable.span_cosines(snapshot, queries, spans)
    selection = selection_of(mode, SearchRequest("", mode=mode.name), None)
    occurrences = Occurrences(tuple(terms), _unit(mode, selection), _across(mode, selection))
    for row, span in enumerate(spans):
        of_query = terms[span.query]
        if of_query:
            is_exact = _is_exact(span, of_query, replace(occurrences, queries=(of_query,)))
            cosines[row] = EXACT if is_exact else min(cosines[row], BELOW)
    return cosines


def _is_exact(span: NamedSpan, terms: Terms, occurrences: Occurrences) -> bool:
    """True for an occurrence, and for a span in whole spans of which one is exact."""
    view, units = span.located.view, span.units
    if is_occurrence(view.segment, units, terms):
        return True
    if occurrences.unit == "span" or occurrences.unit == "document":
        return False
    bounds = view.segment.whole_spans[occurrences.unit]
    first, last = np.searchsorted(bounds, [units.start, units.end - 1], side="right") - 1
    (literal,) = occurrences.rows(view, None, Selection(EVERYTHING))
    rows = literal.whole_spans.beside(literal.spans)
    return bool(((rows.starts >= bounds[first]) & (rows.ends <= bounds[last + 1])).any())


def _unit(mode: AnyMode, selection: Selection) -> LiteralUnit:
    """The hit at an occurrence."""
    return "document" if mode.presented.unit == "document" else selection.boundary or mode.presented.whole or "span"


def _across(mode: AnyMode, selection: Selection) -> bool:
    """True if an occurrence that no single whole span holds is a hit, too: if whole spans were not asked for."""
    return mode.presented.unit == "span" and selection.boundary is None


def _occurrences(
    snapshot: Snapshot, mode: AnyMode, terms: Sequence[Terms], selection: Selection
) -> list[list[LiteralRows]]:
    """The occurrences of every query, segment by segment."""
    query = Occurrences(tuple(terms), _unit(mode, selection), _across(mode, selection))
    return snapshot.map(query, selection).parts


def _parts(snapshot: Snapshot, found: Sequence[SpanRow]) -> list[SpanRows]:
    """Rows of all segments by segment, in the order of the snapshot."""
    by_segment: defaultdict[str, list[SpanRow]] = defaultdict(list)
    for row in found:
        by_segment[row.segment].append(row)
    return [_columns(name, by_segment[name]) for name in snapshot.names]


def _columns(name: str, rows: Sequence[SpanRow]) -> SpanRows:
    if not rows:
        return no_rows(name)
    starts, ends = np.array([row[1:3] for row in rows], np.int64).T
    return SpanRows(name, starts, ends, np.array([row.cosine for row in rows]))


def _scored_rows(snapshot: Snapshot, mode: AnyMode, parts: Sequence[SpanRows], terms: Terms) -> ScoredRows:
    ends = np.cumsum([len(rows) for rows in parts])
    cosines = np.concatenate([np.zeros(0), *(rows.cosines for rows in parts)])

    def row(number: int) -> Scored:
        part = int(np.searchsorted(ends, number, side="right"))
        span = parts[part].row(number - int(ends[part]))
        return mode.presented.hit(*snapshot.texts.placed([scored(snapshot, span, terms)]))

    return ScoredRows(cosines, row)


def scored(snapshot: Snapshot, row: SpanRow, terms: Terms) -> ScoredSpan:
    """A result at its place, which is exact if it has the floor's score."""
    return snapshot.scored(row, exact=bool(terms) and row.cosine == EXACT)
