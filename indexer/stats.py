"""How large a collection is, what of it is alive, and what a merge would give back."""

from dataclasses import dataclass
from pathlib import Path

from indexer.engine.snapshot import SegmentView, open_segment
from indexer.store import Store
from indexer.types import LiveSegment


@dataclass(frozen=True, slots=True)
class SegmentStats:
    """One segment. Documents, parts and units are those alive; ``bytes_live`` is their share of the files, by units."""

    name: str
    documents: int
    parts: int
    units: int
    tombstones: int
    bytes_live: int
    bytes_reclaimable: int


@dataclass(frozen=True, slots=True)
class CollectionStats:
    """A collection; ``bytes_reclaimable`` counts retired segments, too, whose files have not been removed yet."""

    collection: str
    generation: int
    documents: int
    parts: int
    units: int
    segments: int
    tombstones: int
    bytes_live: int
    bytes_reclaimable: int
    bytes_per_unit: float
    per_segment: tuple[SegmentStats, ...]


def collection_stats(store: Store, name: str) -> CollectionStats:
    """Count what is live; only segments with tombstones are opened for it. Raises ``CollectionNotFound``."""
    collection, generation = store.catalog.collection(name), store.catalog.live_generation(name)
    folder, retired = store.folder(collection), store.catalog.retired_segments(collection)
    found = tuple(_segment_stats(folder, segment) for segment in generation.segments)
    live, units = sum(one.bytes_live for one in found), sum(one.units for one in found)
    return CollectionStats(
        collection=name,
        generation=generation.number,
        documents=sum(one.documents for one in found),
        parts=sum(one.parts for one in found),
        units=units,
        segments=len(found),
        tombstones=sum(one.tombstones for one in found),
        bytes_live=live,
        bytes_reclaimable=sum(one.bytes_reclaimable for one in found) + sum(info.bytes for info in retired),
        bytes_per_unit=round(live / max(units, 1), 1),
        per_segment=found,
    )


def _segment_stats(folder: Path, live: LiveSegment) -> SegmentStats:
    info = live.info
    parts, units = _live_parts_and_units(folder, live) if len(live.tombstones) else (info.parts, info.units)
    # Documents without units are worth their share of the documents.
    share = units / info.units if info.units else live.live_documents / max(info.documents, 1)
    of_the_living = round(info.bytes * share)
    return SegmentStats(
        info.name, live.live_documents, parts, units, len(live.tombstones), of_the_living, info.bytes - of_the_living
    )


def _live_parts_and_units(folder: Path, live: LiveSegment) -> tuple[int, int]:
    segment = open_segment(folder / live.info.name, live.info.manifest_sha256)
    view = SegmentView(segment, live.tombstones)
    parts = view.live_documents[segment.part_document]
    return int(parts.sum()), int(view.part_sizes[parts].sum())
