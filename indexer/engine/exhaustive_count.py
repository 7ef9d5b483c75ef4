"""Exhaustive count: the best span of every document, and every span over a floor, for one query in one pass.

As in the scan, the kernels read all vectors once and give approximate cosines with a bound on their error. Only spans
that may be the best of their document, or may reach the floor, are scored exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from indexer import kernels
from indexer.arrays import SpanTerms
from indexer.engine.base import ScoredSpan
from indexer.engine.query import Filter, Selection
from indexer.engine.scan import CodedQueries, code_queries, errors
from indexer.engine.selection import ExactSpans, scored, selected_rows
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.segments.layout import BLOCK
from models.errors import InvalidInput

# At most so many starts may have spans over the floor: this bounds memory.
MAX_STARTS = 500_000
_ALL = 2**62


@dataclass(frozen=True)
class SpanCount:
    """Exact cosines. Rows are numbered through all segments; their order has no meaning."""

    best: Sequence[ExactSpans]
    above: Sequence[ExactSpans] | None

    @cached_property
    def documents(self) -> Float[np.ndarray, " documents"]:
        """The best cosine of every document that has a span."""
        return _cosines(self.best)

    @cached_property
    def spans(self) -> Float[np.ndarray, " spans"] | None:
        """The cosines of all non-overlapping spans over the floor; None where no floor was given."""
        return None if self.above is None else _cosines(self.above)

    def document(self, row: int) -> ScoredSpan:
        """The best span of the document in a row of :attr:`documents`."""
        return _scored(self.best, row)

    def span(self, row: int) -> ScoredSpan:
        """The span in a row of :attr:`spans`."""
        return _scored(self.above or (), row)


def count_spans(
    snapshot: Snapshot,
    query: Float32[np.ndarray, " dim"],
    floor: float | None,
    filter: Filter | None = None,
    terms: SpanTerms | None = None,
) -> SpanCount:
    """Score the spans of live documents and parts that pass a filter, for a unit-length query.

    Spans over the floor are those that a scan with this floor and a large ``top_k`` returns, whatever the engine.
    Raises ``InvalidInput`` where more spans lie over it than memory should hold.
    """
    coded = code_queries(query[None], terms=terms)
    segments = [_exact(view, query, coded, floor, filter or Filter()) for view in snapshot.views]
    of_documents = Selection(_ALL, None, "document")
    best = [spans.take(selected_rows(spans, of_documents)) for spans in segments]
    if floor is None:
        return SpanCount(best, None)
    over = Selection(_ALL, floor, "span")
    return SpanCount(best, [spans.take(selected_rows(spans, over)) for spans in segments])


def _exact(
    view: SegmentView, query: Float32[np.ndarray, " dim"], coded: CodedQueries, floor: float | None, filter: Filter
) -> ExactSpans:
    """The spans of a segment that may be the best of their document, or may reach the floor."""
    segment, allowed = view.segment, view.allowed(filter)
    code = coded.codes[0], coded.steps[0], coded.terms
    approximate = kernels.best_of_starts(segment.arrays, *code, allowed.blocks, allowed.mask)
    blocks = np.arange(len(segment.norm_errors))
    error = np.repeat(errors(view, blocks, coded.slack), BLOCK)[: len(approximate)]
    there = approximate > kernels.NO_SPAN
    needed = _best_of_documents(np.where(there, approximate - error, -np.inf), segment.document_units)
    if floor is not None:
        _refuse_too_many(there & (approximate + error >= floor))
        needed = np.minimum(needed, floor)
    candidates = there & (approximate + error >= needed)
    spans = kernels.spans_reaching(segment.arrays, *code, np.where(candidates, needed - error, kernels.OUT_OF_REACH))
    starts, ends = spans.T.astype(np.int64)
    owners = np.zeros(len(starts), np.int64)
    cosines = kernels.rescore(segment.arrays, starts, ends, query[None], owners, coded.terms)
    return ExactSpans(view, starts, ends, cosines)


def _best_of_documents(
    lower: Float[np.ndarray, " units"], document_units: Int[np.ndarray, " documents_and_one"]
) -> Float[np.ndarray, " units"]:
    """For every unit a lower bound on the best cosine of its document.

    >>> _best_of_documents(np.array([0.1, 0.4, 0.3]), np.array([0, 2, 2, 3])).tolist()
    [0.4, 0.4, 0.3]
    """
    sizes = np.diff(document_units)
    firsts = document_units[:-1][sizes > 0]
    return np.repeat(np.maximum.reduceat(lower, firsts), sizes[sizes > 0]) if len(firsts) else lower


def _refuse_too_many(starts: Bool[np.ndarray, " units"]) -> None:
    count = int(starts.sum())
    if count > MAX_STARTS:
        raise InvalidInput(
            f"Spans over the floor start at {count:,} places of a segment; at most {MAX_STARTS:,} can be counted.",
            hint="Choose a higher floor.",
            field="floor",
        )


def _scored(segments: Sequence[ExactSpans], row: int) -> ScoredSpan:
    for spans in segments:
        if row < len(spans.cosines):
            return scored(spans, row)
        row -= len(spans.cosines)
    raise IndexError(row)


def _cosines(segments: Sequence[ExactSpans]) -> Float[np.ndarray, " rows"]:
    return np.concatenate([np.empty(0), *(spans.cosines for spans in segments)])
