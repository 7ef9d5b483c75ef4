"""BM25 over the clauses, sentences or parts of a snapshot.

Robertson and Zaragoza (2009), *The probabilistic relevance framework: BM25 and beyond*, equation 3.15, with the weight
of Lucene, which is never negative:

    score(q, s) = sum over words w of q:  idf(w) * f * (k1 + 1) / (f + k1 * (1 - b + b * length(s) / mean length))
    idf(w) = ln(1 + (n - n(w) + 0.5) / (n(w) + 0.5))

``n`` counts the sentences of all segments of the snapshot, deleted documents included until a merge. Two changes bound
the score by the score of the query's own text: ``f``, how often the sentence holds w, counts up to the number of times
in the query, and a sentence shorter than the query counts as long as it. The share of this bound, from 0 to 1, is raw.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from jaxtyping import Bool, Float64, Int, Integer

from indexer import kernels
from indexer.engine.query import Filter
from indexer.engine.rows import SpanRows
from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from indexer.words.files import StoredWords
from indexer.words.occurrences import occurrences
from indexer.words.queries import WordItem, WordQuery
from indexer.words.representation import stored_words
from models.text.borders import Boundary
from models.text.words import stems
from models.types import UnitSpan

K1: Final = 1.2
B: Final = 0.75


@dataclass(frozen=True, slots=True)
class WordMatch:
    """An item of a query in a sentence: how often, the weight of the item, and what it adds to the score."""

    item: WordItem
    count: int
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True)
class WordCounts:
    """BM25's statistics of a segment: its whole spans, their words, and the number with each item of a query."""

    whole_spans: int
    words: int
    with_items: Float64[np.ndarray, " items"]

    def __add__(self, other: "WordCounts") -> "WordCounts":
        return WordCounts(
            self.whole_spans + other.whole_spans, self.words + other.words, self.with_items + other.with_items
        )

    @classmethod
    def none(cls, query: WordQuery) -> "WordCounts":
        """The counts of a segment without words."""
        return cls(0, 0, np.zeros(len(query.items)))


def sum_counts(queries: Sequence[WordQuery], parts: Sequence[Sequence[WordCounts]]) -> list[WordCounts]:
    """For every query the counts of all segments together."""
    return [sum((part[number] for part in parts), WordCounts.none(query)) for number, query in enumerate(queries)]


def units_in_reach(view: SegmentView, filter: Filter) -> Bool[np.ndarray, " units"] | None:
    """A mask of the units whose words count; None for all. No score may reveal the words of other units."""
    reach = filter.reach
    return view.allowed(reach).mask if reach else None


class SegmentWords:
    """The whole spans of a segment, their numbers of words, and the units of every item of a query."""

    def __init__(
        self,
        segment: Segment,
        stored: StoredWords,
        query: WordQuery,
        boundary: Boundary,
        numbers: list[list[int]] | None = None,
    ) -> None:
        self.segment = segment
        self.stored = stored
        self.query = query
        self.bounds = segment.whole_spans[boundary]
        self.lengths = stored.lengths(boundary, self.bounds)
        self.numbers = numbers or [_numbers(stored, item) for item, _ in query.items]
        self.units = [
            _units(segment, stored, item, of_item, self.bounds)
            for (item, _), of_item in zip(query.items, self.numbers, strict=True)
        ]

    @classmethod
    def read(cls, segment: Segment, query: WordQuery, boundary: Boundary) -> "SegmentWords | None":
        """The whole spans of a segment; None if it has no words."""
        stored = stored_words(segment)
        return None if stored is None else cls(segment, stored, query, boundary)

    def of(self, boundary: Boundary) -> "SegmentWords":
        """The same words in another division into whole spans; the query's words are not looked up again."""
        return SegmentWords(self.segment, self.stored, self.query, boundary, self.numbers)

    def whole_of(self, unit: int) -> int:
        """The whole that holds a unit."""
        return int(np.searchsorted(self.bounds, unit, side="right")) - 1

    def counts(self, reach: Bool[np.ndarray, " units"] | None = None) -> WordCounts:
        """BM25's statistics; with a mask, of the whole spans that begin with these units alone."""
        lengths = self.lengths if reach is None else self.lengths[reach[self.bounds[:-1]]]
        of_items = self.units if reach is None else [units[reach[units]] for units in self.units]
        with_items = [kernels.whole_spans_with(self.bounds, units) for units in of_items]
        return WordCounts(len(lengths), int(lengths.sum()), np.array(with_items, np.float64))

    def weights(self, of_items: Float64[np.ndarray, " items"]) -> Float64[np.ndarray, " terms_and_one"]:
        """The weight of every word of the dictionary; 0 for words that are not in the query."""
        weights = np.zeros(self.stored.terms + 1)
        for weight, numbers in zip(of_items.tolist(), self.numbers, strict=True):
            weights[numbers] = np.maximum(weights[numbers], weight)
        return weights


class Bm25:
    """The scores of one query, with the weights of all segments together."""

    def __init__(self, query: WordQuery, counts: WordCounts) -> None:
        self.query = query
        self.counts = counts

    @cached_property
    def weights(self) -> Float64[np.ndarray, " items"]:
        """The weight of every item in the snapshot."""
        with_item = self.counts.with_items
        return np.log1p((self.counts.whole_spans - with_item + 0.5) / (with_item + 0.5))

    @cached_property
    def highest(self) -> float:
        """The score of a sentence that is the query."""
        norm = self._norms(np.array([self.query.length]))[0]
        counts = np.array([count for _, count in self.query.items])
        return float((self.weights * counts * (K1 + 1) / (counts + norm)).sum())

    def shares(self, segment: SegmentWords) -> Float64[np.ndarray, " whole_spans"]:
        """The score of every whole of a segment, as a share of the highest; 0 without a word or a required phrase."""
        shares = np.zeros(len(segment.lengths))
        rows, of_rows = self.found(segment)
        shares[rows] = of_rows
        return shares

    def found(self, segment: SegmentWords) -> tuple[Int[np.ndarray, " found"], Float64[np.ndarray, " found"]]:
        """The whole spans of a segment with words of the query, rising, and their shares."""
        norms = self._norms(segment.lengths)
        scores, matches = np.zeros(len(norms)), np.zeros(len(norms), np.int64)
        required = np.zeros(len(norms), np.int64)
        for (item, most), weight, units in zip(self.query.items, self.weights.tolist(), segment.units, strict=True):
            counted = required if item.is_required else matches
            kernels.add_bm25(segment.bounds, norms, units, weight, most, K1, scores, counted)
        there = np.flatnonzero(scores)
        there = there[required[there] == sum(item.is_required for item, _ in self.query.items)]
        return there, np.minimum(scores[there] / self.highest, 1.0)

    def shares_at(self, segment: SegmentWords, rows: Int[np.ndarray, " rows"]) -> Float64[np.ndarray, " rows"]:
        """The shares of some whole spans; for a few of them faster than :meth:`shares`."""
        norms, scores = self._norms(segment.lengths[rows]), np.zeros(len(rows))
        complete = np.ones(len(rows), bool)
        # Of the kind of the units: numpy would copy these for others.
        starts, ends = (segment.bounds[at].astype(np.uint32) for at in (rows, rows + 1))
        for (item, most), weight, units in zip(self.query.items, self.weights.tolist(), segment.units, strict=True):
            counts = np.searchsorted(units, ends) - np.searchsorted(units, starts)
            if item.is_required:
                complete &= counts > 0
            counted = np.minimum(counts, most)
            scores += weight * counted * (K1 + 1) / (counted + norms)
        return np.where(complete, np.minimum(scores / self.highest, 1.0), 0.0)

    def matches(self, segment: SegmentWords, whole: int) -> list[WordMatch]:
        """The items of the query in one whole span, and what they add to its score."""
        first, last = segment.bounds[whole : whole + 2].tolist()
        norm = float(self._norms(segment.lengths[whole : whole + 1])[0])
        found: list[WordMatch] = []
        for (item, most), weight, units in zip(self.query.items, self.weights.tolist(), segment.units, strict=True):
            count = int(np.diff(np.searchsorted(units, [first, last]))[0])
            if count:
                counted = min(count, most)
                found.append(WordMatch(item, count, weight, weight * counted * (K1 + 1) / (counted + norm)))
        return found

    def rows(
        self, segment: SegmentWords, chosen: Bool[np.ndarray, " whole_spans"], longest: int | None = None
    ) -> SpanRows:
        """The whole spans with words of the query, with ``2 * share - 1`` for cosines, cut to ``longest`` units."""
        shares = self.shares(segment)
        rows = np.flatnonzero(chosen & (shares > 0))
        starts, ends = segment.bounds[rows].astype(np.int64), segment.bounds[rows + 1].astype(np.int64)
        if longest is not None:
            kernels.best_windows(segment.stored.of_units, segment.weights(self.weights), longest, starts, ends)
        return SpanRows(segment.segment.folder.name, starts, ends, 2 * shares[rows] - 1)

    def _norms(self, lengths: Integer[np.ndarray, " whole_spans"]) -> Float64[np.ndarray, " whole_spans"]:
        mean = self.counts.words / max(self.counts.whole_spans, 1)
        counts = np.arange(int(lengths.max(initial=0)) + 1)
        of_counts = K1 * (1 - B + B * np.maximum(counts, self.query.length) / max(mean, 1e-9))
        return of_counts[lengths]


def units_with_words(segment: Segment, query: WordQuery, units: UnitSpan) -> Int[np.ndarray, " marked"]:
    """The units of a span that are words of a query; none in a segment without words."""
    stored = stored_words(segment)
    if stored is None:
        return np.zeros(0, np.int64)
    numbers = [number for item, _ in query.items for number in _numbers(stored, item)]
    return np.flatnonzero(np.isin(stored.of_units[units.start : units.end], numbers)) + units.start


def text_share(query: WordQuery, terms: Sequence[str]) -> float:
    """The share of a text alone: all words weigh the same, and the text is as long as the query or longer.

    >>> from indexer.words.queries import read_query
    >>> text_share(read_query("my plan"), ("my", "plan")), round(text_share(read_query("my plan"), ("a", "plan")), 3)
    (1.0, 0.5)
    """
    norm = K1 * (1 - B + B * max(len(terms), query.length) / query.length)
    score = highest = 0.0
    for item, most in query.items:
        count = min(_count(item, terms), most)
        if item.is_required and not count:
            return 0.0
        score += count * (K1 + 1) / (count + norm)
        highest += most * (K1 + 1) / (most + K1)
    return min(score / highest, 1.0)


def _count(item: WordItem, terms: Sequence[str]) -> int:
    if item.is_prefix:
        return sum(term.startswith(item.words[0]) for term in terms)
    if item.stemming:
        return Counter(stems(terms, item.stemming))[stems(item.words, item.stemming)[0]]
    size = len(item.words)
    return sum(tuple(terms[start : start + size]) == item.words for start in range(len(terms) - size + 1))


def _numbers(stored: StoredWords, item: WordItem) -> list[int]:
    """The numbers of the words of an item that the segment holds."""
    if item.is_prefix:
        return list(stored.with_prefix(item.words[0]))
    if item.stemming:
        return stored.with_stem(item.words[0], item.stemming)
    return [number for number in map(stored.number, item.words) if number]


def _units(
    segment: Segment,
    stored: StoredWords,
    item: WordItem,
    numbers: Sequence[int],
    bounds: Int[np.ndarray, " whole_spans_and_one"],
) -> Integer[np.ndarray, " units"]:
    """The units of an item, rising; of a phrase the first of every occurrence within one whole span."""
    if len(item.words) > 1:
        starts, ends = occurrences(segment, item.words)
        return starts[bounds[np.searchsorted(bounds, starts, side="right")] >= ends]
    units = [stored.units(number) for number in numbers]
    if len(units) == 1:
        return units[0]
    return np.sort(np.concatenate([np.zeros(0, np.uint32), *units]))
