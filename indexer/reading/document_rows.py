"""The documents of a snapshot that pass a filter, without reading their texts."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from indexer.engine.named_spans import Located
from indexer.engine.query import Filter
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.segments.columns import rows_holding
from indexer.segments.layout import METADATA_PREFIX


@dataclass(frozen=True, slots=True)
class DocumentRows:
    """A page of documents by id, and the number of documents that pass the filter in all."""

    documents: tuple[Located, ...]
    total: int


def passing(view: SegmentView, filter: Filter) -> Bool[np.ndarray, " documents"]:
    """A mask of the live documents that pass a filter; a part filter is passed by one part at least."""
    segment = view.segment
    mask = view.live_documents & rows_holding(segment.document_table, filter.document.items())
    if filter.part:
        with_part = np.zeros(len(mask), bool)
        with_part[segment.part_document[rows_holding(segment.part_table, filter.part.items())]] = True
        mask &= with_part
    return mask


def unknown_keys(snapshot: Snapshot, filter: Filter) -> tuple[str, ...]:
    """The keys of a filter that no document, or no part, of a snapshot has: misspelt ones, most often."""
    levels = (
        ("document", filter.document, [view.segment.document_table for view in snapshot.views]),
        ("part", filter.part, [view.segment.part_table for view in snapshot.views]),
    )
    return tuple(
        f"{level}.{key}"
        for level, conditions, tables in levels
        for key in conditions
        if not any(METADATA_PREFIX + key in table.column_names for table in tables)
    )


def passing_ids(snapshot: Snapshot, filter: Filter) -> Iterator[str]:
    """The ids of live documents that pass a filter. Raises ``SegmentCorrupt`` if a segment is damaged."""
    snapshot.require_complete()
    for view in snapshot.views:
        for row in np.flatnonzero(passing(view, filter)).tolist():
            yield view.segment.document_id(row)


def page_of(snapshot: Snapshot, filter: Filter, after: str, limit: int) -> DocumentRows:
    """The first ``limit`` documents by id that pass a filter and come after an id."""
    first: list[tuple[str, Located]] = []
    total = 0
    for view in snapshot.views:
        mask = passing(view, filter)
        total += int(mask.sum())
        first += [(view.segment.document_id(row), Located(view, row)) for row in _first(view, mask, after, limit)]
    return DocumentRows(tuple(located for _, located in sorted(first, key=_id)[:limit]), total)


def _id(pair: tuple[str, Located]) -> str:
    return pair[0]


def _first(view: SegmentView, mask: Bool[np.ndarray, " documents"], after: str, limit: int) -> list[int]:
    """The rows of the ``limit`` smallest ids after an id; their order by bytes in UTF-8 is that by code points."""
    import pyarrow as pa
    import pyarrow.compute as pc  # which a search does not need, and need not load

    ids = view.segment.document_table.column("id").combine_chunks()
    rows = np.flatnonzero(mask & pc.greater(ids, pa.scalar(after, ids.type)).to_numpy(zero_copy_only=False))
    smallest = pc.bottom_k_unstable(ids.take(pa.array(rows)), limit)
    return [int(row) for row in rows[smallest.to_numpy()]]
