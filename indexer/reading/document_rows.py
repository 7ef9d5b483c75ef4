"""The documents of a snapshot that pass a filter, without reading their texts."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from indexer.engine.executor import SegmentQuery
from indexer.engine.located import Located
from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.reading.filter_fields import check_fields, keys_in
from indexer.segments.kinds import Level


@dataclass(frozen=True, slots=True)
class DocumentRows:
    """A page of documents by id, and the number of documents that pass the filter in all."""

    documents: tuple[Located, ...]
    total: int


class Passing(NamedTuple):
    """The live documents of a segment, how many pass a filter, and which of its keys no document or part has.

    Documents out of the filter's reach count nowhere. ``units`` are those of the live documents.
    """

    live: int
    passing: int
    unknown_keys: tuple[str, ...]
    units: int


@dataclass(frozen=True, slots=True)
class PassingCounts(SegmentQuery[None, Passing]):
    """The number of documents that pass the selection's filter."""

    def rows(self, view: SegmentView, total: None, selection: Selection) -> Passing:
        """The passing documents of a segment."""
        filter = selection.filter
        unknown = (*_unknown(view, filter, "document", filter.document), *_unknown(view, filter, "part", filter.part))
        reached = view.passing_documents(filter.reach)
        units = int(np.diff(view.segment.document_units)[reached].sum())
        return Passing(int(reached.sum()), int(view.passing_documents(filter).sum()), unknown, units)


def count_passing(snapshot: Snapshot, filter: Filter) -> Passing:
    """Count the documents of a snapshot that pass a filter, and name its unknown keys, most of which are misspelt."""
    parts = snapshot.map(PassingCounts(), Selection(filter=filter)).parts
    keys = [*(f"document.{key}" for key in filter.document), *(f"part.{key}" for key in filter.part)]
    missing = Counter(chain.from_iterable(part.unknown_keys for part in parts))
    unknown = tuple(key for key in keys if missing[key] == len(parts))
    live, passing, units = (sum(getattr(part, name) for part in parts) for name in ("live", "passing", "units"))
    return Passing(live, passing, unknown, units)


def _unknown(view: SegmentView, filter: Filter, level: Level, conditions: Collection[str]) -> Iterator[str]:
    """The keys that nothing in the filter's reach has."""
    known = frozenset(keys_in(view.segment.metadata(level), view.in_reach(filter, level)) if conditions else ())
    return (f"{level}.{key}" for key in conditions if key not in known)


@dataclass(frozen=True, slots=True)
class _PassingIds(SegmentQuery[None, list[str]]):
    """The ids of live documents that pass the selection's filter."""

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[str]:
        return [
            view.segment.document_id(row) for row in np.flatnonzero(view.passing_documents(selection.filter)).tolist()
        ]


def passing_ids(snapshot: Snapshot, filter: Filter) -> list[str]:
    """The ids of live documents that pass a filter. Raises ``SegmentCorrupt`` if a segment is damaged."""
    snapshot.require_complete()
    check_fields(snapshot, filter)
    return list(chain.from_iterable(snapshot.map(_PassingIds(), Selection(filter=filter)).parts))


@dataclass(frozen=True, slots=True)
class _Page(SegmentQuery[None, tuple[int, dict[str, int]]]):
    """The number of documents that pass the selection's filter, and the rows of the first ids after one."""

    after: str
    limit: int

    def rows(self, view: SegmentView, total: None, selection: Selection) -> tuple[int, dict[str, int]]:
        mask = view.passing_documents(selection.filter)
        first = _first(view, mask, self.after, self.limit)
        return int(mask.sum()), {view.segment.document_id(row): row for row in first}


def page_of(snapshot: Snapshot, filter: Filter, after: str, limit: int) -> DocumentRows:
    """The first ``limit`` documents by id that pass a filter and come after an id."""
    found = snapshot.map(_Page(after, limit), Selection(filter=filter))
    located = {id: Located(view, row) for view, (_, rows) in found.of(snapshot) for id, row in rows.items()}
    return DocumentRows(tuple(located[id] for id in sorted(located)[:limit]), sum(count for count, _ in found.parts))


def _first(view: SegmentView, mask: Bool[np.ndarray, " documents"], after: str, limit: int) -> list[int]:
    """The rows of the ``limit`` smallest ids after an id; their order by bytes in UTF-8 is that by code points."""
    import pyarrow as pa
    import pyarrow.compute as pc  # which a search does not need, and need not load

    ids = view.segment.document_table.column("id").combine_chunks()
    rows = np.flatnonzero(mask & pc.greater(ids, pa.scalar(after, ids.type)).to_numpy(zero_copy_only=False))
    smallest = pc.bottom_k_unstable(ids.take(pa.array(rows)), limit)
    return [int(row) for row in rows[smallest.to_numpy()]]
