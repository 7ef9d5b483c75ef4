"""How a new generation comes to be: one transaction that readers see all of, or nothing of."""

from collections.abc import Collection as Some
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, func, insert, literal, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.leases import Lease, holding
from indexer.catalog.matches import keep_matches, phrase_version, withdraw_of_documents
from indexer.catalog.names import is_document_id, possible_ids
from indexer.catalog.sql import listed, tabled
from indexer.catalog.tables import collections, documents, metadata, segments, tombstones
from indexer.errors import InvalidDocument
from indexer.phrases import Matches
from indexer.types import DocumentRow, SegmentInfo
from models.errors import InvalidInput


def publish(
    catalog: Catalog,
    lease: Lease,
    segment: SegmentInfo,
    rows: Sequence[DocumentRow],
    retires: Some[str] = (),
    matched: Matches | None = None,
) -> int:
    """Makes a segment visible and returns the number of the generation that holds it.

    ``rows`` has one row for each document of the segment. A document that was live elsewhere is dead there
    from now on; of an id that occurs twice the last row lives. ``retires`` names segments of which nothing is left
    alive then, because this one has it. ``matched`` is what saved phrases find in the segment; it is kept in the same
    step, and what they had found in documents that are replaced is withdrawn. A segment that retires others says what
    these said, so that nothing is withdrawn. Publishing a segment again changes nothing.

    Raises ``StalePhrases``, and publishes nothing, if the phrases are not those any more that were matched.
    """
    _check_rows(segment, rows)
    with holding(catalog, lease) as (connection, generation):
        if _is_published(connection, lease, segment):
            return generation
        _add_segment(connection, lease, segment, generation + 1, catalog.clock())
        if not retires:
            _withdraw_replaced(connection, lease, rows, catalog.clock())
        _add_documents(connection, lease, segment, rows, generation + 1)
        if retires:
            retire_segments(connection, lease, retires, generation + 1, catalog.clock())
        if matched is not None:
            keep_matches(connection, lease.collection_id, matched, generation + 1, catalog.clock())
        _set_generation(connection, lease, generation + 1)
    return generation + 1


def remove(catalog: Catalog, lease: Lease, document_ids: Iterable[str]) -> frozenset[str]:
    """Deletes documents and returns the ids of those there were; if there were none, no generation is made."""
    with holding(catalog, lease) as (connection, generation):
        these = _documents(connection, lease, document_ids)
        dead = frozenset(connection.scalars(select(documents.c.document_id).where(these)))
        if dead:
            if phrase_version(connection, lease.collection_id):
                withdraw_of_documents(connection, lease.collection_id, dead, "document_deleted", catalog.clock())
            _bury(connection, these, generation + 1)
            _set_generation(connection, lease, generation + 1)
    return dead


def retire(catalog: Catalog, lease: Lease, names: Some[str]) -> int:
    """Takes segments without a live document out of the live ones, and returns the new generation's number."""
    with holding(catalog, lease) as (connection, generation):
        retire_segments(connection, lease, names, generation + 1, catalog.clock())
        _set_generation(connection, lease, generation + 1)
    return generation + 1


def remove_collection(catalog: Catalog, lease: Lease) -> None:
    """Deletes the rows of a collection, its lease among them: documents, segments, phrases, matches, tuning.

    API keys that are limited to the collection stay.
    """
    with holding(catalog, lease) as (connection, _):
        names = select(segments.c.name).where(segments.c.collection_id == lease.collection_id)
        connection.execute(delete(tombstones).where(tombstones.c.segment.in_(names)))
        for table in reversed(metadata.sorted_tables):
            if "collection_id" in table.c:
                connection.execute(delete(table).where(table.c.collection_id == lease.collection_id))
        connection.execute(delete(collections).where(collections.c.id == lease.collection_id))


def _check_rows(segment: SegmentInfo, rows: Sequence[DocumentRow]) -> None:
    # A document of the segment without a row would be found by searches, and no delete would ever reach it.
    if sorted(row.ordinal for row in rows) != list(range(segment.documents)):
        raise InvalidInput(
            f"Segment {segment.name} has {segment.documents} documents, but its rows are not exactly theirs",
            hint="Give one row per document, with ordinals from 0.",
            field="rows",
        )
    for row in rows:
        if not is_document_id(row.document_id):
            raise InvalidDocument(
                f"A document cannot have the id {row.document_id[:80]!r}",
                hint="An id has 1 to 512 characters and no NUL.",
                field="id",
            )


def _is_published(connection: Connection, lease: Lease, segment: SegmentInfo) -> bool:
    found = connection.execute(
        select(segments.c.collection_id, segments.c.manifest_sha256).where(segments.c.name == segment.name)
    ).first()
    if found is None:
        return False
    if tuple(found) != (lease.collection_id, segment.manifest_sha256):
        raise InvalidInput(
            f"Another segment has been published as {segment.name}",
            hint="Every segment needs a name of its own.",
            field="segment",
        )
    return True


def _add_segment(connection: Connection, lease: Lease, segment: SegmentInfo, generation: int, now: datetime) -> None:
    connection.execute(
        insert(segments).values(
            **asdict(segment), collection_id=lease.collection_id, added_in=generation, created_at=now
        )
    )


def _add_documents(
    connection: Connection, lease: Lease, segment: SegmentInfo, rows: Sequence[DocumentRow], generation: int
) -> None:
    last = {row.document_id: row for row in rows}
    _bury(connection, _documents(connection, lease, last), generation)
    # In the order of the key, so that neighbours are written to the same page.
    living = ((row.document_id, row.ordinal, row.content_hash) for _, row in sorted(last.items()))
    columns = ("document_id", "ordinal", "content_hash", "collection_id", "segment")
    values = select(*tabled(connection, living), literal(lease.collection_id), literal(segment.name))
    connection.execute(insert(documents).from_select(columns, values))
    superseded = [
        {"segment": segment.name, "ordinal": row.ordinal, "generation": generation}
        for row in rows
        if last[row.document_id] is not row
    ]
    if superseded:  # without any, SQLAlchemy would insert one row of nothing
        connection.execute(insert(tombstones), superseded)


def _withdraw_replaced(connection: Connection, lease: Lease, rows: Sequence[DocumentRow], now: datetime) -> None:
    """Withdraw what phrases had found in documents that are there already."""
    if phrase_version(connection, lease.collection_id):
        these = _documents(connection, lease, {row.document_id for row in rows})
        replaced = connection.scalars(select(documents.c.document_id).where(these)).all()
        withdraw_of_documents(connection, lease.collection_id, replaced, "document_changed", now)


def _documents(connection: Connection, lease: Lease, ids: Iterable[str]) -> ColumnElement[bool]:
    """The condition that finds the collection's live documents of these ids."""
    named = documents.c.document_id.in_(listed(connection, possible_ids(ids)))
    return (documents.c.collection_id == lease.collection_id) & named


def _bury(connection: Connection, these: ColumnElement[bool], generation: int) -> None:
    """Takes documents out of the live ones and leaves a tombstone where each lay."""
    places = select(documents.c.segment, documents.c.ordinal, literal(generation)).where(these)
    connection.execute(insert(tombstones).from_select(["segment", "ordinal", "generation"], places))
    connection.execute(delete(documents).where(these))


def _set_generation(connection: Connection, lease: Lease, generation: int) -> None:
    connection.execute(update(collections).where(collections.c.id == lease.collection_id).values(generation=generation))


def retire_segments(connection: Connection, lease: Lease, names: Some[str], generation: int, now: datetime) -> None:
    """Within a transaction: from this generation on nobody reads these segments. Their tombstones have done their work.

    Raises ``InvalidInput`` if a live document lies in one of them: nobody could find it any more.
    """
    of_segments = documents.c.segment.in_(listed(connection, names))
    living = connection.scalar(select(func.count()).select_from(documents).where(of_segments))
    if living:
        raise InvalidInput(
            f"{living} live documents lie in the segments that should be retired",
            hint="Publish a segment that has them in the same step.",
            field="retires",
        )
    connection.execute(delete(tombstones).where(tombstones.c.segment.in_(listed(connection, names))))
    these = (segments.c.collection_id == lease.collection_id) & segments.c.name.in_(listed(connection, names))
    connection.execute(update(segments).where(these).values(retired_in=generation, retired_at=now))


def forget_retired(catalog: Catalog, lease: Lease, until: datetime) -> None:
    """Take segments that were retired by this time out of the catalog: nothing names what lies on disk of them then."""
    with holding(catalog, lease) as (connection, _):
        these = (segments.c.collection_id == lease.collection_id) & (segments.c.retired_at <= until)
        connection.execute(delete(segments).where(these))
