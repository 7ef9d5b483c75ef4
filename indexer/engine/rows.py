"""Spans of segments as columns: what a search passes on until a hit is presented."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class SpanRow(NamedTuple):
    """A span in units of the segment of this name, and its exact cosine."""

    segment: str
    start: int
    end: int
    cosine: float


@dataclass(frozen=True, slots=True)
class SpanRows:
    """Spans of one segment with exact cosines, as columns: rows of them are cheap to sort, drop and send.

    >>> rows = SpanRows("s", np.array([0, 4]), np.array([2, 5]), np.array([0.5, 0.9]))
    >>> rows.take(np.array([1])).row(0)
    SpanRow(segment='s', start=4, end=5, cosine=0.9)
    """

    segment: str
    starts: Int[np.ndarray, " spans"]
    ends: Int[np.ndarray, " spans"]
    cosines: Float[np.ndarray, " spans"]

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: Int[np.ndarray, " rows"] | Bool[np.ndarray, " spans"] | slice) -> "SpanRows":
        """Select spans by numbers, a mask or a slice."""
        return SpanRows(self.segment, self.starts[rows], self.ends[rows], self.cosines[rows])

    def scored(self, cosines: Float[np.ndarray, " spans"]) -> "SpanRows":
        """The same spans with other cosines."""
        return replace(self, cosines=cosines)

    def beside(self, others: "SpanRows") -> "SpanRows":
        """Append other spans of the same segment."""
        pairs = (self.starts, others.starts), (self.ends, others.ends), (self.cosines, others.cosines)
        return SpanRows(self.segment, *(np.concatenate(pair) for pair in pairs))

    def row(self, number: int) -> SpanRow:
        """Return the span with this number."""
        return SpanRow(self.segment, int(self.starts[number]), int(self.ends[number]), float(self.cosines[number]))


def no_rows(segment: str) -> SpanRows:
    """No spans of a segment."""
    return SpanRows(segment, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
