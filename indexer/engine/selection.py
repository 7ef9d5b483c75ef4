"""From scores to the selected spans: overlap suppression, grouping, order. Shared by all engines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from indexer.engine.base import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.snapshot import Place, SegmentView
from models.ops.suppression import non_overlapping
from models.types import UnitSpan


@dataclass(frozen=True, slots=True)
class ExactSpans:
    """Spans of one segment with exact cosines, as columns: rows of them are cheap to sort and drop."""

    view: SegmentView
    starts: Int[np.ndarray, " spans"]
    ends: Int[np.ndarray, " spans"]
    cosines: Float[np.ndarray, " spans"]

    def take(self, rows: Int[np.ndarray, " rows"]) -> "ExactSpans":
        """Some of them."""
        return ExactSpans(self.view, self.starts[rows], self.ends[rows], self.cosines[rows])


def choose(segments: Sequence[ExactSpans], selection: Selection) -> list[ScoredSpan]:
    """The selected spans of a snapshot from spans of its segments, best first.

    What was left out of ``segments`` must score lower than everything that is returned.
    """
    pairs = [(spans, selected_rows(spans, selection)) for spans in segments]
    cosines = np.concatenate([np.empty(0), *(spans.cosines[rows] for spans, rows in pairs)])
    # Looking up the document of a span dominates here, so only spans that may be among the first are looked up.
    last = -np.sort(-cosines)[selection.top_k - 1] if len(cosines) > selection.top_k else -np.inf
    best = [scored(spans, row) for spans, chosen in pairs for row in chosen[spans.cosines[chosen] >= last].tolist()]
    return sorted(best, key=lambda span: span.order)[: selection.top_k]


def selected_rows(spans: ExactSpans, selection: Selection) -> Int[np.ndarray, " rows"]:
    """The rows of the selected spans of a segment, best first; more than ``top_k`` where some tie with the last."""
    order = np.lexsort((spans.ends, spans.starts, -spans.cosines))
    if selection.floor is not None:
        order = order[spans.cosines[order] >= selection.floor]
    starts, ends = spans.starts[order], spans.ends[order]
    if selection.group_by == "span":
        # Spans never cross parts, so suppression over the whole segment is suppression within each part.
        survivors = non_overlapping(zip(starts.tolist(), ends.tolist(), strict=True))
    else:
        parts = np.searchsorted(spans.view.segment.part_units, starts, side="right") - 1
        groups = parts if selection.group_by == "part" else spans.view.segment.part_document[parts]
        survivors = iter(np.sort(np.unique(groups, return_index=True)[1]).tolist())
    return order[_first(survivors, spans.cosines[order], selection.top_k)]


def _first(rows: Iterable[int], cosines: Float[np.ndarray, " rows"], top_k: int) -> Int[np.ndarray, " first"]:
    """The first ``top_k`` rows, and those that tie with the last: document ids, not rows, decide between them."""
    first: list[int] = []
    for row in rows:
        if len(first) >= top_k and cosines[row] < cosines[first[-1]]:
            break
        first.append(row)
    return np.array(first, np.int64)


def scored(spans: ExactSpans, row: int) -> ScoredSpan:
    """The span in a row."""
    units = UnitSpan(int(spans.starts[row]), int(spans.ends[row]))
    place = Place(spans.view.segment, spans.view.segment.part_of(units.start), units)
    return ScoredSpan(float(spans.cosines[row]), place)
