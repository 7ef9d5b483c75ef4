"""Live documents of a snapshot, found by id, and the units of spans given by their characters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from indexer.engine.executor import SegmentQuery
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.errors import DocumentNotFound
from models.errors import InvalidInput
from models.types import CharSpan, UnitSpan


@dataclass(frozen=True, slots=True)
class Located:
    """A live document of a snapshot."""

    view: SegmentView
    document: int

    def units(self, span: CharSpan) -> UnitSpan:
        """The units, counted through the segment, that the characters touch.

        Raises ``InvalidInput`` for offsets outside the text, for characters that touch no unit or more than one part,
        and for more or fewer units than the collection's spans have.
        """
        segment = self.view.segment
        length = int(segment.text_starts[self.document + 1] - segment.text_starts[self.document])
        if not 0 <= span.start < span.end <= length:
            raise InvalidInput(f"[{span.start}, {span.end}) is no span of a text of {length} characters", field="span")
        first, last = segment.document_units[self.document : self.document + 2].tolist()
        starts, ends = segment.unit_spans[first:last].T
        units = UnitSpan(
            first + int(np.searchsorted(ends, span.start, side="right")),
            first + int(np.searchsorted(starts, span.end, side="left")),
        )
        bounds = segment.recipe.bounds
        if len(units) not in bounds.lengths:
            raise InvalidInput(
                f"[{span.start}, {span.end}) touches {len(units)} units; the collection's spans have "
                f"{bounds.shortest} to {bounds.longest}",
                field="span",
            )
        if segment.part_of(units.start) != segment.part_of(units.end - 1):
            raise InvalidInput(f"[{span.start}, {span.end}) lies in more than one part", field="span")
        return units


@dataclass(frozen=True, slots=True)
class _DocumentsNamed(SegmentQuery[None, dict[str, int]]):
    """The numbers of the live documents of these ids that pass the selection's filter."""

    ids: tuple[str, ...]

    def rows(self, view: SegmentView, total: None, selection: Selection) -> dict[str, int]:
        import pyarrow.compute as pc  # which a search does not need, and need not load

        column = view.segment.document_table.column("id")
        there = pc.is_in(column, value_set=pa.array(self.ids, pa.string())).to_numpy(zero_copy_only=False)
        if selection.filter or there.any():  # a filter is asked in any case: time must not tell what is out of reach
            there &= view.passing_documents(selection.filter)
        return {view.segment.document_id(row): row for row in np.flatnonzero(there).tolist()}


def find_documents(snapshot: Snapshot, ids: Iterable[str], filter: Filter = Filter()) -> dict[str, Located]:
    """Locate documents by id. Deleted and unknown ones, and those that do not pass the filter, are left out."""
    found = snapshot.map(_DocumentsNamed(tuple(sorted(set(ids)))), Selection(filter=filter))
    return {id: Located(view, row) for view, rows in found.of(snapshot) for id, row in rows.items()}


def require_documents(
    snapshot: Snapshot, collection: str, ids: Sequence[str], filter: Filter = Filter()
) -> dict[str, Located]:
    """Locate documents of a collection by id, all of them.

    Raises ``DocumentNotFound`` for the first that is left out, if no segment is missing that may have it.
    """
    located = find_documents(snapshot, ids, filter)
    for id in ids:
        if id not in located:
            snapshot.require_complete()
            raise DocumentNotFound.of(collection, id)
    return located
