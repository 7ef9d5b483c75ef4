"""Reading one generation: which segments are live, and which of their documents are dead."""

from collections import defaultdict

import numpy as np
from jaxtyping import Int
from sqlalchemy import ColumnElement, Connection, false, select

from indexer.catalog.names import is_collection_name
from indexer.catalog.tables import collections, segments, tombstones
from indexer.types import Generation, LiveSegment, SegmentInfo


def named(name: str) -> ColumnElement[bool]:
    """The condition that finds a collection. A text that no collection can be called by may not even be storable."""
    return collections.c.name == name if is_collection_name(name) else false()


_INFO = (
    segments.c.name,
    segments.c.manifest_sha256,
    segments.c.documents,
    segments.c.parts,
    segments.c.units,
    segments.c.bytes,
)


def read_generation(connection: Connection, name: str) -> Generation | None:
    """The present generation of the collection of this name, if there is one.

    The three statements belong to one generation only if ``connection`` reads from a snapshot.
    """
    collection = connection.execute(select(collections.c.id, collections.c.generation).where(named(name))).first()
    if collection is None:
        return None
    infos = _live_segments(connection, collection.id)
    dead = _tombstones(connection, collection.id)
    nothing = np.empty(0, dtype=np.int64)
    return Generation(collection.generation, tuple(LiveSegment(info, dead.get(info.name, nothing)) for info in infos))


def _live_segments(connection: Connection, collection_id: str) -> list[SegmentInfo]:
    rows = connection.execute(
        select(*_INFO)
        .where(segments.c.collection_id == collection_id, segments.c.retired_in.is_(None))
        .order_by(segments.c.added_in, segments.c.name)
    )
    return [SegmentInfo(*row) for row in rows]


def read_retired(connection: Connection, collection_id: str) -> list[SegmentInfo]:
    """The segments that are no longer live, but still in the catalog."""
    rows = connection.execute(
        select(*_INFO)
        .where(segments.c.collection_id == collection_id, segments.c.retired_in.is_not(None))
        .order_by(segments.c.retired_in, segments.c.name)
    )
    return [SegmentInfo(*row) for row in rows]


def _tombstones(connection: Connection, collection_id: str) -> dict[str, Int[np.ndarray, " dead"]]:
    rows = connection.execute(
        select(tombstones.c.segment, tombstones.c.ordinal)
        .join_from(tombstones, segments)
        .where(segments.c.collection_id == collection_id, segments.c.retired_in.is_(None))
        .order_by(tombstones.c.segment, tombstones.c.ordinal)
    )
    ordinals: defaultdict[str, list[int]] = defaultdict(list)
    for segment, ordinal in rows:
        ordinals[segment].append(ordinal)
    return {segment: np.array(found, dtype=np.int64) for segment, found in ordinals.items()}
