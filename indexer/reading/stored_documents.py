"""The documents of a snapshot, read back from its segments as they were indexed."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from jaxtyping import Bool

from indexer.engine.executor import SegmentQuery
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from models.types import Document, Part


def documents_in_order(
    snapshot: Snapshot, chosen: Callable[[SegmentView], Bool[np.ndarray, " documents"]]
) -> Iterator[tuple[Segment, int]]:
    """The chosen documents, segment by segment: the one way to read texts in order, each when it is taken.

    Raises ``SegmentCorrupt`` if a segment is damaged, before the first document is taken.
    """
    snapshot.require_complete()
    return ((view.segment, row) for view in snapshot.views for row in np.flatnonzero(chosen(view)).tolist())


class StoredDocuments:
    """Iterates over the live documents of a snapshot, with their parts and metadata; of these ids, or of all.

    ``read_bytes`` of ``total_bytes`` says how far, in code points. Raises ``SegmentCorrupt`` if a segment is damaged.
    """

    def __init__(self, snapshot: Snapshot, ids: Collection[str] | None = None) -> None:
        snapshot.require_complete()
        self._snapshot, self._ids = snapshot, ids
        self.total_bytes = sum(snapshot.map(_CodePoints()).parts)
        self.read_bytes = 0

    def __iter__(self) -> Iterator[Document]:
        self.read_bytes = 0
        for segment, number in documents_in_order(self._snapshot, attrgetter("live_documents")):
            if self._ids is None or segment.document_id(number) in self._ids:
                yield stored_document(segment, number)
            self.read_bytes += int(segment.text_starts[number + 1] - segment.text_starts[number])


@dataclass(frozen=True, slots=True)
class _CodePoints(SegmentQuery[None, int]):
    """The code points of all texts."""

    def rows(self, view: SegmentView, total: None, selection: Selection) -> int:
        return int(view.segment.text_starts[-1])


def stored_document(segment: Segment, number: int) -> Document:
    """A document of a segment."""
    first, last = segment.document_parts[number : number + 2].tolist()
    parts = (
        Part(segment.text(number, segment.part_span(part)), segment.part_metadata(part)) for part in range(first, last)
    )
    return Document(segment.document_id(number), tuple(parts), segment.document_metadata(number))
