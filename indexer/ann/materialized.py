"""The papers' literal form: every span vector in a FAISS flat index. An oracle, and an engine for small collections."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import faiss
import numpy as np
from jaxtyping import Float32, Int

from indexer.arrays import SpanTerms
from indexer.engine.base import ScoredSpan
from indexer.engine.query import Filter, Selection
from indexer.engine.selection import ExactSpans, choose
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.errors import EngineMemoryLimit
from models.ops.quantization import dequantize
from models.ops.similarity import normalize
from models.ops.spans import enumerate_spans, has_direction, span_sums
from models.types import QueryVectors

_NO_UNITS: Int[np.ndarray, " 0"] = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class SpanIndex:
    """All spans of one segment and their unit-length vectors."""

    spans: Int[np.ndarray, "spans 2"]
    index: faiss.IndexFlatIP


class MaterializedEngine:
    """Exact search over materialised spans; refuses collections whose spans would not fit ``limit_bytes``."""

    name = "materialized"

    def __init__(self, limit_bytes: int = 4 * 2**30) -> None:
        self._limit_bytes = limit_bytes
        self._indexes: dict[Path, SpanIndex] = {}
        self._lock = Lock()

    def search(
        self, snapshot: Snapshot, queries: QueryVectors, selection: Selection, terms: SpanTerms | None = None
    ) -> list[list[ScoredSpan]]:
        """For every unit-length query its selected spans, best first."""
        indexes, terms = self._open(snapshot), SpanTerms.none(len(queries)) if terms is None else terms
        return [
            self._search_one(snapshot.views, indexes, query, selection, terms.take(slice(number, number + 1)))
            for number, query in enumerate(queries)
        ]

    def _search_one(
        self,
        views: Sequence[SegmentView],
        indexes: Sequence[SpanIndex],
        query: Float32[np.ndarray, " dim"],
        selection: Selection,
        terms: SpanTerms,
    ) -> list[ScoredSpan]:
        opened = zip(views, indexes, strict=True)
        segments = [_search_segment(view, index, query, selection, terms) for view, index in opened]
        return choose(segments, selection)

    def _open(self, snapshot: Snapshot) -> list[SpanIndex]:
        with self._lock:
            self._check_memory(snapshot)
            folders = {view.segment.folder: view for view in snapshot.views}
            live = {folder: index for folder, index in self._indexes.items() if folder in folders}
            self._indexes = live | {folder: build_index(view) for folder, view in folders.items() if folder not in live}
            return [self._indexes[view.segment.folder] for view in snapshot.views]

    def _check_memory(self, snapshot: Snapshot) -> None:
        spans = sum(int(count_spans(view)) for view in snapshot.views)
        needed = spans * snapshot.recipe.dim * 4
        if needed > self._limit_bytes:
            raise EngineMemoryLimit(
                f"{spans:,} span vectors need {needed / 2**30:.1f} GiB; the limit is "
                f"{self._limit_bytes / 2**30:.1f} GiB.",
                hint="Use the scan engine: it needs no span vectors.",
            )


def count_spans(view: SegmentView) -> int:
    """The number of spans of a segment."""
    sizes, bounds = view.part_sizes, view.segment.recipe.bounds
    return int(sum(np.maximum(sizes - length + 1, 0).sum() for length in bounds.lengths))


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


def _search_segment(
    view: SegmentView, index: SpanIndex, query: Float32[np.ndarray, " dim"], selection: Selection, terms: SpanTerms
) -> ExactSpans:
    """Query FAISS for more and more spans until they certainly include the selected ones.

    FAISS ranks by cosine: no further span scores higher than the last cosine and the highest terms.
    """
    selector, reachable = _selector(view, index, selection.filter)
    count = min(reachable, 64 * selection.top_k)
    while True:
        nearest, last = _nearest(view, index, query, count, selector, terms)
        if count >= reachable or (selection.floor is not None and last < selection.floor):
            return nearest
        chosen = choose([nearest], selection)
        # Spans that tie with the last result may still be missing.
        if len(chosen) >= selection.top_k and chosen[selection.top_k - 1].cosine > last:
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
) -> tuple[ExactSpans, float]:
    """So many spans with their scores, and what no other span scores higher than."""
    if count == 0:
        return ExactSpans(view, _NO_UNITS, _NO_UNITS, np.zeros(0)), -np.inf
    parameters = faiss.SearchParameters()
    if selector is not None:
        parameters.sel = selector
    cosines, rows = index.index.search(query[None].astype(np.float32), count, params=parameters)
    starts, ends = index.spans[rows[0]].T
    added = terms.of_spans(view.segment.borders, starts, ends, np.zeros(len(starts), np.int64))
    last = float(cosines[0, -1]) + float(terms.highest[0])
    return ExactSpans(view, starts, ends, cosines[0].astype(np.float64) + added), last
