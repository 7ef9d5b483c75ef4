"""The papers' literal form as an oracle of the scan: every span vector in a FAISS flat index."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from weakref import WeakKeyDictionary

import faiss
import numpy as np
from jaxtyping import Float32, Int

from indexer.arrays import SpanTerms
from indexer.engine.executor import AnyQuery, Executor, SegmentQuery
from indexer.engine.query import Filter, Selection
from indexer.engine.rows import SpanRows, no_rows
from indexer.engine.scan import SpanScan
from indexer.engine.selection import selected_rows
from indexer.engine.views import SegmentView, Views
from indexer.segments.reader import Segment
from models.ops.quantization import dequantize
from models.ops.similarity import normalize
from models.ops.spans import enumerate_spans, has_direction, span_sums


@dataclass(frozen=True, slots=True)
class SpanIndex:
    """All spans of one segment and their unit-length vectors."""

    spans: Int[np.ndarray, "spans 2"]
    index: faiss.IndexFlatIP


class MaterializedExecutor(Executor):
    """Reads spans that are materialised."""

    name = "materialized"

    def __init__(self) -> None:
        self._indexes: WeakKeyDictionary[Segment, SpanIndex] = WeakKeyDictionary()
        self._lock = Lock()

    def plan(self, snapshot: Views, query: AnyQuery, selection: Selection) -> AnyQuery:
        """A scan that asks FAISS."""
        return _MaterializedScan(query, self._index) if isinstance(query, SpanScan) else query

    @property
    def held_segments(self) -> int:
        """The number of segments whose spans are in memory."""
        return len(self._indexes)

    def close(self) -> None:
        """Free the memory of all spans."""
        with self._lock:
            self._indexes.clear()

    def _index(self, view: SegmentView) -> SpanIndex:
        with self._lock:
            if view.segment not in self._indexes:
                self._indexes[view.segment] = build_index(view)
            return self._indexes[view.segment]


def build_index(view: SegmentView) -> SpanIndex:
    """Materialise every span of a segment, from the same dequantised unit vectors that the scan reads."""
    segment = view.segment
    index, spans = faiss.IndexFlatIP(segment.recipe.dim), [np.zeros((0, 2), np.int64)]
    for first, size in zip(segment.part_units[:-1].tolist(), view.part_sizes.tolist(), strict=True):
        units = dequantize(segment.vectors[first : first + size], segment.scales[first : first + size])
        of_part = enumerate_spans(size, segment.recipe.bounds)
        sums = span_sums(units, of_part)
        real = has_direction(units, of_part, sums)
        index.add(normalize(sums[real]).astype(np.float32))
        spans.append(of_part[real] + first)
    return SpanIndex(np.concatenate(spans), index)


@dataclass(frozen=True, slots=True)
class _MaterializedScan(SegmentQuery[None, list[SpanRows]]):
    """The best spans for unit-length queries, one after the other."""

    scan: SpanScan
    index: Callable[[SegmentView], SpanIndex]

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """For every query the spans of a segment that may be selected."""
        index, vectors, terms = self.index(view), self.scan.vectors, self.scan.terms
        terms = SpanTerms.none(len(vectors)) if terms is None else terms
        floor = self.scan.floor(selection)
        found = (
            _search_segment(view, index, query, replace(selection, floor=floor), terms.of_query(number))
            for number, query in enumerate(vectors)
        )
        return [rows.take(rows.cosines >= floor) for rows in found]


def _search_segment(
    view: SegmentView, index: SpanIndex, query: Float32[np.ndarray, " dim"], selection: Selection, terms: SpanTerms
) -> SpanRows:
    """Query FAISS for more and more spans until they certainly include the selected ones.

    FAISS ranks by cosine: no further span scores higher than the last cosine and the highest terms.
    """
    selector, reachable = _selector(view, index, selection.filter)
    count = min(reachable, 64 * selection.top_k)
    while True:
        nearest, last = _nearest(view, index, query, count, selector, terms)
        if count >= reachable or (selection.floor is not None and last < selection.floor):
            return nearest
        chosen = nearest.cosines[selected_rows(view.segment, nearest, selection)]
        # Spans that tie with the last result may still be missing.
        if len(chosen) >= selection.top_k and chosen[selection.top_k - 1] > last:
            return nearest
        count = min(reachable, 4 * count)


def _selector(view: SegmentView, index: SpanIndex, filter: Filter) -> tuple[faiss.IDSelector | None, int]:
    mask = view.allowed(filter).mask
    if mask is None:
        return None, len(index.spans)
    rows = np.flatnonzero(mask[index.spans[:, 0]])
    return faiss.IDSelectorBatch(rows), len(rows)


def _nearest(
    view: SegmentView,
    index: SpanIndex,
    query: Float32[np.ndarray, " dim"],
    count: int,
    selector: faiss.IDSelector | None,
    terms: SpanTerms,
) -> tuple[SpanRows, float]:
    """So many spans with their scores, and what no other span scores higher than."""
    if count == 0:
        return no_rows(view.name), -np.inf
    parameters = faiss.SearchParameters()
    if selector is not None:
        parameters.sel = selector
    cosines, rows = index.index.search(query[None].astype(np.float32), count, params=parameters)
    starts, ends = index.spans[rows[0]].T
    added = terms.of_spans(view.segment.borders, starts, ends, np.zeros(len(starts), np.int64))
    last = float(cosines[0, -1]) + float(terms.highest[0])
    return SpanRows(view.name, starts, ends, cosines[0].astype(np.float64) + added), last
