"""From scores to the selected spans: overlap suppression, grouping, order. Shared by all executors and modes."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from indexer.engine.executor import SegmentQuery
from indexer.engine.query import EVERYTHING, Selection
from indexer.engine.rows import SpanRow, SpanRows
from indexer.engine.snapshot import Snapshot
from indexer.segments.reader import Segment
from models.ops.suppression import non_overlapping


def choose(snapshot: Snapshot, parts: Sequence[SpanRows], selection: Selection) -> list[SpanRow]:
    """The selected spans of a snapshot from spans of its segments, best first: by cosine, document id and start.

    What was left out of ``parts`` must score lower than everything that is returned.
    """
    chosen = [rows.take(selected_rows(snapshot.segment(rows.segment), rows, selection)) for rows in parts]
    cosines = np.concatenate([np.empty(0), *(rows.cosines for rows in chosen)])
    # Looking up the document of a span dominates here, so only spans that may be among the first are looked up.
    last = -np.sort(-cosines)[selection.top_k - 1] if len(cosines) > selection.top_k else -np.inf
    best = [
        (-span.cosine, snapshot.document_id(span), span.start, span)
        for rows in chosen
        for span in map(rows.row, np.flatnonzero(rows.cosines >= last).tolist())
    ]
    return [span for *_, span in sorted(best)[: selection.top_k]]


def search(
    snapshot: Snapshot, query: SegmentQuery[Any, list[SpanRows]], selection: Selection, requests: int = 1
) -> list[list[SpanRow]]:
    """For every request of a batch its selected spans, best first."""
    parts = snapshot.map(query, selection).parts
    return [choose(snapshot, [rows[number] for rows in parts], selection) for number in range(requests)]


def selected_rows(segment: Segment, spans: SpanRows, selection: Selection) -> Int[np.ndarray, " rows"]:
    """The rows of the selected spans of a segment, best first; more than ``top_k`` where some tie with the last."""
    order = np.lexsort((spans.ends, spans.starts, -spans.cosines))
    if selection.floor is not None:
        order = order[spans.cosines[order] >= selection.floor]
    starts, ends = spans.starts[order], spans.ends[order]
    if selection.group_by == "span":
        # Spans never cross parts, so suppression over the whole segment is suppression within each part.
        survivors = non_overlapping(zip(starts.tolist(), ends.tolist(), strict=True))
    else:
        groups = owners(segment, starts, selection)
        survivors = iter(np.sort(np.unique(groups, return_index=True)[1]).tolist())
    return order[_first(survivors, spans.cosines[order], selection.top_k)]


def best_of_documents(segment: Segment, spans: SpanRows) -> SpanRows:
    """The best span of every document."""
    return spans.take(selected_rows(segment, spans, Selection(EVERYTHING, None, "document")))


def over_floor(segment: Segment, spans: SpanRows, floor: float) -> SpanRows:
    """The spans that reach a floor and do not overlap."""
    return spans.take(selected_rows(segment, spans, Selection(EVERYTHING, floor, "span")))


def owners(segment: Segment, units: Int[np.ndarray, " units"], selection: Selection) -> Int[np.ndarray, " units"]:
    """Of units, which part they belong to, or which document where hits are grouped by these."""
    parts = np.searchsorted(segment.part_units, units, side="right") - 1
    return segment.part_document[parts] if selection.group_by == "document" else parts


def _first(rows: Iterable[int], cosines: Float[np.ndarray, " rows"], top_k: int) -> Int[np.ndarray, " first"]:
    """The first ``top_k`` rows, and those that tie with the last: document ids, not rows, decide between them."""
    first: list[int] = []
    for row in rows:
        if len(first) >= top_k and cosines[row] < cosines[first[-1]]:
            break
        first.append(row)
    return np.array(first, np.int64)
