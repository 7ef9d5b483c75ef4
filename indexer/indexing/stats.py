"""Statistics of a collection: its size, its live share, and the space that merging would reclaim."""

from dataclasses import dataclass

from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from indexer.store import Store
from indexer.types import LiveSegment


@dataclass(frozen=True, slots=True)
class SegmentStats:
    """One segment. Documents, parts and units are live ones; ``bytes_live`` is their share of the files, by units."""

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
    """The statistics of a collection; only segments with tombstones are opened. Raises ``CollectionNotFound``."""
    collection, generation = store.catalog.collection(name), store.catalog.live_generation(name)
    retired = store.catalog.retired_segments(collection.id)
    segments = tuple(_segment_stats(store, collection.id, segment) for segment in generation.segments)
    live, units = sum(one.bytes_live for one in segments), sum(one.units for one in segments)
    return CollectionStats(
        collection=name,
        generation=generation.number,
        documents=sum(one.documents for one in segments),
        parts=sum(one.parts for one in segments),
        units=units,
        segments=len(segments),
        tombstones=sum(one.tombstones for one in segments),
        bytes_live=live,
        bytes_reclaimable=sum(one.bytes_reclaimable for one in segments) + sum(info.bytes for info in retired),
        bytes_per_unit=round(live / max(units, 1), 1),
        per_segment=segments,
    )


def _segment_stats(store: Store, collection_id: str, live: LiveSegment) -> SegmentStats:
    info, parts, units = live.info, live.info.parts, live.info.units
    if len(live.tombstones):
        parts, units = _live_parts_and_units(store.segments.open(collection_id, info), live)
    # A segment without units counts by its documents.
    share = units / info.units if info.units else live.live_documents / max(info.documents, 1)
    of_the_living = round(info.bytes * share)
    return SegmentStats(
        info.name, live.live_documents, parts, units, len(live.tombstones), of_the_living, info.bytes - of_the_living
    )


def _live_parts_and_units(segment: Segment, live: LiveSegment) -> tuple[int, int]:
    view = SegmentView(segment, live.tombstones)
    parts = view.live_documents[segment.part_document]
    return int(parts.sum()), int(view.part_sizes[parts].sum())
