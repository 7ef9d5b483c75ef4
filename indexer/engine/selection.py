"""From scores to the wanted spans: overlap suppression, grouping, order. Shared by all engines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from indexer.engine.base import ScoredSpan
from indexer.engine.snapshot import Place, SegmentView
from indexer.engine.wanted import Grouping, Selection
from models.ops.suppression import non_overlapping
from models.types import UnitSpan


@dataclass(frozen=True, slots=True)
class ExactSpans:
    """Spans of one segment with exact cosines, as columns: rows of them are cheap to sort and drop."""

    view: SegmentView
    starts: Int[np.ndarray, " spans"]
    ends: Int[np.ndarray, " spans"]
    cosines: Float[np.ndarray, " spans"]


def choose(found: Sequence[ExactSpans], wanted: Selection) -> list[ScoredSpan]:
    """The wanted spans of a snapshot from spans of its segments, best first.

    What was left out of ``found`` must score lower than everything that is returned.
    """
    chosen = [span for spans in found for span in _choose_in_segment(spans, wanted)]
    return sorted(chosen, key=lambda span: span.order)[: wanted.top_k]


def _choose_in_segment(spans: ExactSpans, wanted: Selection) -> list[ScoredSpan]:
    order = np.lexsort((spans.ends, spans.starts, -spans.cosines))
    if wanted.floor is not None:
        order = order[spans.cosines[order] >= wanted.floor]
    parts = np.searchsorted(spans.view.segment.part_units, spans.starts[order], side="right") - 1
    kept = _SURVIVORS[wanted.group_by](spans, order, parts)
    kept = kept[np.argsort(-spans.cosines[order[kept]], kind="stable")]
    return [_scored(spans, int(order[row]), int(parts[row])) for row in _with_ties(spans, order, kept, wanted.top_k)]


def _with_ties(
    spans: ExactSpans, order: Int[np.ndarray, " rows"], kept: Int[np.ndarray, " kept"], top_k: int
) -> Int[np.ndarray, " first"]:
    """The first ``top_k`` rows, and those that tie with the last: document ids, not rows, decide between them."""
    if len(kept) <= top_k:
        return kept
    last = spans.cosines[order[kept[top_k - 1]]]
    return kept[spans.cosines[order[kept]] >= last]


def _best_apart(
    spans: ExactSpans, order: Int[np.ndarray, " rows"], parts: Int[np.ndarray, " rows"]
) -> Int[np.ndarray, " kept"]:
    # Spans never cross parts, so suppression over the whole segment is suppression within each part.
    pairs = list(zip(spans.starts[order].tolist(), spans.ends[order].tolist(), strict=True))
    return np.array(non_overlapping(pairs), np.int64)


def _best_of_part(
    spans: ExactSpans, order: Int[np.ndarray, " rows"], parts: Int[np.ndarray, " rows"]
) -> Int[np.ndarray, " kept"]:
    return np.unique(parts, return_index=True)[1]


def _best_of_document(
    spans: ExactSpans, order: Int[np.ndarray, " rows"], parts: Int[np.ndarray, " rows"]
) -> Int[np.ndarray, " kept"]:
    return np.unique(spans.view.segment.part_document[parts], return_index=True)[1]


_Survivors = Callable[[ExactSpans, Int[np.ndarray, " rows"], Int[np.ndarray, " rows"]], Int[np.ndarray, " kept"]]
_SURVIVORS: dict[Grouping, _Survivors] = {
    "span": _best_apart,
    "part": _best_of_part,
    "document": _best_of_document,
}


def _scored(spans: ExactSpans, row: int, part: int) -> ScoredSpan:
    units = UnitSpan(int(spans.starts[row]), int(spans.ends[row]))
    place = Place(spans.view.segment, part, units)
    return ScoredSpan(place.document_id, place.span, place.units, float(spans.cosines[row]), place)
