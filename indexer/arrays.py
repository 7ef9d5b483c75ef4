"""The arrays of a segment that every search reads: the first argument of the kernels."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int, Int8, Int64, Integer, UInt8

from models.ops.span_score import SpanScore
from models.text.borders import Border

# Units that one block of inverse norms covers (``indexer.segments.layout``).
BLOCK = 256


class SegmentArrays(NamedTuple):
    """Unit vectors and inverse span norms, as on disk; ``shortest`` is the length of the first norms.

    ``borders`` has two strengths for every unit: in the low bits for spans that start at it, in the
    high ones for spans that end before it (``models.text.borders``).

    A named tuple, because numba compiles functions of these: a further array is one more field.
    """

    vectors: Int8[np.ndarray, "units dim"]
    scales: Float32[np.ndarray, " units"]
    norm_codes: UInt8[np.ndarray, "blocks lengths {BLOCK}"]
    norm_affine: Float32[np.ndarray, "blocks lengths 2"]
    shortest: int
    borders: UInt8[np.ndarray, " units"]


# The most units of a span (``models.types.SpanBounds``). Two strengths of borders share a byte.
LONGEST = 64
BITS = 4
STRENGTHS = 2**BITS
# The codes of units at which a sentence, a line or more begins.
_STRENGTHS_OF_CODES = np.arange(256) % STRENGTHS, np.arange(256) >> BITS
SENTENCE_STARTS = np.minimum(*_STRENGTHS_OF_CODES) >= Border.SENTENCE
# Below any score of a span.
EXCLUDED = -4.0
# Spans whose units are looked through together: this bounds the memory.
_ROWS_AT_ONCE = 4096
# What one float32 operation may be off by, relatively.
_EPSILON = 2.0**-24


class SpanTerms(NamedTuple):
    """Terms added to the cosines of spans: by query and number of units, by the strengths of the span's borders, and
    by query where a sentence ends inside the span.

    ``models.ops.span_score`` makes them. The kernels read them as float32, exact scores as float64.
    """

    lengths: Float[np.ndarray, "queries {LONGEST+1}"]
    start: Float[np.ndarray, "{STRENGTHS}"]
    end: Float[np.ndarray, "{STRENGTHS}"]
    crossing: Float[np.ndarray, " queries"]

    @classmethod
    def none(cls, queries: int) -> "SpanTerms":
        """Nothing: a span's score is its cosine."""
        return cls(np.zeros((queries, LONGEST + 1)), np.zeros(STRENGTHS), np.zeros(STRENGTHS), np.zeros(queries))

    @classmethod
    def of(
        cls,
        score: SpanScore,
        query_units: Int[np.ndarray, " queries"],
        sentences: Int[np.ndarray, " queries"] | None = None,
    ) -> "SpanTerms":
        """The terms of a span score for queries with these numbers of units and sentences.

        0 units: unknown, and no discount. Without ``sentences`` every query has one.
        """
        start, end = (
            np.pad(np.array(values, np.float64), (0, STRENGTHS - len(values))) for values in (score.start, score.end)
        )
        one = np.ones(len(query_units), bool) if sentences is None else sentences <= 1
        return cls(score.lengths(query_units, LONGEST), start, end, np.where(one, score.crossing, 0.0))

    def take(self, rows: Int[np.ndarray, " rows"] | slice) -> "SpanTerms":
        """The terms of some queries."""
        return self._replace(lengths=self.lengths[rows], crossing=self.crossing[rows])

    def of_query(self, number: int) -> "SpanTerms":
        """The terms of one query."""
        return self.take(slice(number, number + 1))

    def rounded(self) -> "SpanTerms":
        """The same as float32."""
        return SpanTerms(*(np.ascontiguousarray(values, np.float32) for values in self))

    @property
    def highest(self) -> Float64[np.ndarray, " queries"]:
        """The most that is added to any cosine."""
        return self.lengths.max(axis=1) + self.start.max() + self.end.max()

    @property
    def rounding(self) -> Float64[np.ndarray, " queries"]:
        """The most that float32 puts into a score: four terms are rounded, and added in four steps."""
        most = np.abs(self.lengths).max(axis=1) + np.abs(self.start).max() + np.abs(self.end).max()
        most = most + np.abs(self.crossing)
        return np.where(most > 0, 8 * _EPSILON * (2 + most), 0.0)

    def of_spans(
        self,
        borders: UInt8[np.ndarray, " units"],
        starts: Int[np.ndarray, " spans"],
        ends: Int[np.ndarray, " spans"],
        owners: Int[np.ndarray, " spans"],
    ) -> Float64[np.ndarray, " spans"]:
        """The term added to the cosine of every span with its query.

        >>> terms = SpanTerms.none(1)
        >>> terms.lengths[0, 2], terms.start[5], terms.end[5] = -0.25, 0.5, 0.125
        >>> spans = np.array([0, 1]), np.array([2, 2])
        >>> terms.of_spans(np.array([0x55, 0], np.uint8), *spans, np.zeros(2, int)).tolist()
        [0.375, 0.125]
        """
        added = self.lengths[owners, ends - starts] + self.of_borders(borders, starts, ends)
        if self.crossing.any():
            added += self.crossing[owners] * crosses(borders, starts, ends)
        return added

    def of_borders(
        self, borders: UInt8[np.ndarray, " units"], starts: Int[np.ndarray, " spans"], ends: Int[np.ndarray, " spans"]
    ) -> Float64[np.ndarray, " spans"]:
        """The terms of the borders of spans."""
        if not len(starts):
            return np.zeros(0)
        # A segment ends as a part does: with the border that its first part begins with, if it stores borders.
        after = borders[np.where(ends < len(borders), ends, 0)]
        return self.start[borders[starts] % STRENGTHS] + self.end[after >> BITS]

    def within(self, lengths: Bool[np.ndarray, "{LONGEST+1}"]) -> "SpanTerms":
        """Terms that put all spans of other lengths below the score ``EXCLUDED``."""
        return self._replace(lengths=np.where(lengths, self.lengths, 2 * EXCLUDED))


def crosses(
    borders: UInt8[np.ndarray, " units"], starts: Int[np.ndarray, " spans"], ends: Int[np.ndarray, " spans"]
) -> Bool[np.ndarray, " spans"]:
    """A mask of the spans that hold the end of a sentence: another begins at one of their units, but not at the first.

    >>> crosses(np.array([0x55, 0, 0x22, 0], np.uint8), np.array([0, 0, 2]), np.array([2, 3, 4])).tolist()
    [False, True, False]
    """
    crossed, further = np.zeros(len(starts), bool), np.arange(1, max(1, int((ends - starts).max(initial=0))))
    for first in range(0, len(starts), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        units = starts[rows, None] + further
        inside = units < ends[rows, None]
        crossed[rows] = (inside & SENTENCE_STARTS[borders[np.where(inside, units, 0)]]).any(axis=1)
    return crossed


def starts_of(lengths: Integer[np.ndarray, " rows"]) -> Int64[np.ndarray, " rows_and_one"]:
    """The starts of adjacent runs of these lengths, and the end of the last one.

    >>> starts_of(np.array([2, 3])).tolist()
    [0, 2, 5]
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
