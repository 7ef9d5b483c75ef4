"""The documents of a snapshot, read back from its segments as they were indexed."""

from collections.abc import Collection, Iterator

import numpy as np

from indexer.engine.snapshot import Snapshot
from indexer.segments.reader import Segment
from models.types import Document, Part


class StoredDocuments:
    """Iterates over the live documents of a snapshot, with their parts and metadata; of these ids, or of all.

    ``read_bytes`` of ``total_bytes`` says how far, in code points. Raises ``SegmentCorrupt`` if a segment is damaged.
    """

    def __init__(self, snapshot: Snapshot, ids: Collection[str] | None = None) -> None:
        snapshot.require_complete()
        self._snapshot, self._ids = snapshot, ids
        self.total_bytes = sum(int(view.segment.text_starts[-1]) for view in snapshot.views)
        self.read_bytes = 0

    def __iter__(self) -> Iterator[Document]:
        self.read_bytes = 0
        for view in self._snapshot.views:
            starts = view.segment.text_starts
            for number in np.flatnonzero(view.live_documents).tolist():
                id = view.segment.document_id(number)
                if self._ids is None or id in self._ids:
                    yield stored_document(view.segment, number)
                self.read_bytes += int(starts[number + 1] - starts[number])


def stored_document(segment: Segment, number: int) -> Document:
    """A document of a segment."""
    first, last = segment.document_parts[number : number + 2].tolist()
    parts = (
        Part(segment.text(number, segment.part_span(part)), segment.part_metadata(part)) for part in range(first, last)
    )
    return Document(segment.document_id(number), tuple(parts), segment.document_metadata(number))
