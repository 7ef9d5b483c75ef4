"""Exhaustive count: the best span of every document, and every span over a floor, for one query in one pass.

As in the scan, the kernels read all vectors once and give approximate cosines with a bound on their error. Only spans
that may be the best of their document, or may reach the floor, are scored exactly.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from indexer import kernels
from indexer.arrays import EXCLUDED, SpanTerms
from indexer.engine.executor import SegmentQuery
from indexer.engine.query import Filter, Selection
from indexer.engine.rows import SpanRows
from indexer.engine.scan import CodedQueries, code_queries, errors
from indexer.engine.selection import best_of_documents, over_floor
from indexer.engine.views import SegmentView
from indexer.segments.layout import BLOCK
from models.errors import InvalidInput

# The most starts whose spans may be over the floor: this bounds memory.
MAX_STARTS = 500_000


@dataclass(frozen=True, slots=True)
class SpanCounts(SegmentQuery[None, list[SpanRows]]):
    """The spans of live documents and parts that pass the selection's filter, scored for a unit-length query.

    Rows are the best span of every document, and those over the floor; without one the former again. These are what a
    scan with this floor and a large ``top_k`` returns, whatever the executor. Raises ``InvalidInput`` where more spans
    lie over it than memory should hold.
    """

    vector: Float32[np.ndarray, " dim"]
    floor: float | None
    terms: SpanTerms | None = None

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """The best spans of the documents of a segment, and its spans over the floor."""
        coded = code_queries(self.vector[None], terms=self.terms)
        spans = _exact(view, self.vector, coded, self.floor, selection.filter)
        best = best_of_documents(view.segment, spans.take(spans.cosines > EXCLUDED))
        return [best, best if self.floor is None else over_floor(view.segment, spans, self.floor)]


def _exact(
    view: SegmentView, query: Float32[np.ndarray, " dim"], coded: CodedQueries, floor: float | None, filter: Filter
) -> SpanRows:
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
    return SpanRows(view.name, starts, ends, cosines)


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
