"""Publish segments, delete documents and retire segments: each a new generation, in one transaction."""

from collections import abc
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, func, insert, literal, select, update

from indexer.catalog import past_generations
from indexer.catalog.branches import all_tables, foreign_tables, lock_rows
from indexer.catalog.collections import Catalog, live_segments, retired_segments
from indexer.catalog.leases import Lease, holding
from indexer.catalog.matches import add_matches, forget_withdrawn, phrase_version, withdraw_of_documents
from indexer.catalog.names import is_document_id, possible_ids
from indexer.catalog.sql import listed, tabled
from indexer.catalog.tables import aliases, collections, documents, segments, tombstones
from indexer.errors import CollectionAliased, InvalidDocument
from indexer.phrases import Matches
from indexer.representations.details import with_units
from indexer.types import DocumentRow, Recipe, SegmentInfo
from models.errors import InvalidInput


def publish(
    catalog: Catalog,
    lease: Lease,
    segment: SegmentInfo,
    rows: Sequence[DocumentRow],
    retires: abc.Collection[str] = (),
    matched: Matches | None = None,
) -> int:
    """Publish a segment; returns the number of the generation that holds it. Idempotent.

    ``rows`` has one row for each document of the segment. Live documents with these ids are replaced; of an id that
    occurs twice the last row is live. ``retires`` names segments whose live documents are all in this one.
    ``matched`` is stored in the same transaction, and the matches in replaced documents are withdrawn. A segment that
    retires others has the same documents, so that nothing is withdrawn.

    Raises ``StalePhrases``, and publishes nothing, if the phrases have changed since they were matched.
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
            add_matches(connection, lease.collection_id, matched, generation + 1, catalog.clock())
        _set_generation(connection, lease, generation + 1, catalog.clock())
    return catalog.note_published(lease.collection_id, generation + 1)


def remove(catalog: Catalog, lease: Lease, document_ids: Iterable[str]) -> tuple[frozenset[str], int]:
    """Delete documents; returns the ids that were live, and the generation without them. Without any, none is made."""
    with holding(catalog, lease) as (connection, generation):
        condition = _documents(connection, lease, document_ids)
        dead = frozenset(connection.scalars(select(documents.c.document_id).where(condition)))
        if dead:
            if phrase_version(connection, lease.collection_id):
                withdraw_of_documents(connection, lease.collection_id, dead, "document_deleted", catalog.clock())
            generation += 1
            _bury(connection, condition, generation)
            _set_generation(connection, lease, generation, catalog.clock())
    return dead, catalog.note_published(lease.collection_id, generation)


def retire(catalog: Catalog, lease: Lease, names: abc.Collection[str]) -> int:
    """Retire segments without live documents; returns the number of the new generation."""
    with holding(catalog, lease) as (connection, generation):
        retire_segments(connection, lease, names, generation + 1, catalog.clock())
        _set_generation(connection, lease, generation + 1, catalog.clock())
    return catalog.note_published(lease.collection_id, generation + 1)


def change_details(catalog: Catalog, lease: Lease, recipe: Recipe) -> int:
    """Change the representations of a collection to those of a recipe; returns the number of the new generation.

    All its live segments must have them.
    """
    with holding(catalog, lease) as (connection, generation):
        row = collections.c.id == lease.collection_id
        connection.execute(update(collections).where(row).values(representations=with_units(recipe)))
        _set_generation(connection, lease, generation + 1, catalog.clock())
        past_generations.forget(connection, lease.collection_id)
    return catalog.note_published(lease.collection_id, generation + 1)


def remove_collection(catalog: Catalog, lease: Lease) -> None:
    """Deletes the rows of a collection, its lease among them: documents, segments, phrases, matches, tuning.

    API keys that are limited to the collection stay. Raises ``CollectionAliased`` while an alias names it.
    """
    with holding(catalog, lease, names=True) as (connection, _):
        of_collection = aliases.c.collection_id == lease.collection_id
        names = connection.scalars(select(aliases.c.name).where(of_collection).order_by(aliases.c.name)).all()
        if names:
            raise CollectionAliased(
                f"The collection {lease.collection!r} has the alias {', '.join(names)}; nothing was deleted",
                hint="Let the alias name another collection, or delete the alias.",
                field="collection",
            )
        delete_rows(connection, lease.collection_id)


def delete_rows(connection: Connection, collection_id: str) -> None:
    """Delete all rows of a collection, within a transaction that holds its lock."""
    lock_rows(connection, collection_id)
    names = select(segments.c.name).where(segments.c.collection_id == collection_id)
    connection.execute(delete(tombstones).where(tombstones.c.segment.in_(names)))
    for table in reversed([*all_tables(), *foreign_tables(connection)]):
        if "collection_id" in table.c:
            connection.execute(delete(table).where(table.c.collection_id == collection_id))
    connection.execute(delete(collections).where(collections.c.id == collection_id))


def _check_rows(segment: SegmentInfo, rows: Sequence[DocumentRow]) -> None:
    # A document without a row could be searched but never deleted.
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
    row = connection.execute(
        select(segments.c.collection_id, segments.c.manifest_sha256).where(segments.c.name == segment.name)
    ).first()
    if row is None:
        return False
    if tuple(row) != (lease.collection_id, segment.manifest_sha256):
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
    live = ((row.document_id, row.ordinal, row.content_hash) for _, row in sorted(last.items()))
    columns = ("document_id", "ordinal", "content_hash", "collection_id", "segment")
    values = select(*tabled(connection, live), literal(lease.collection_id), literal(segment.name))
    connection.execute(insert(documents).from_select(columns, values))
    superseded = [
        {"segment": segment.name, "ordinal": row.ordinal, "generation": generation}
        for row in rows
        if last[row.document_id] is not row
    ]
    if superseded:  # without any, SQLAlchemy would insert one row of nothing
        connection.execute(insert(tombstones), superseded)


def _withdraw_replaced(connection: Connection, lease: Lease, rows: Sequence[DocumentRow], now: datetime) -> None:
    """Withdraw the matches in documents that are replaced."""
    if phrase_version(connection, lease.collection_id):
        condition = _documents(connection, lease, {row.document_id for row in rows})
        replaced = connection.scalars(select(documents.c.document_id).where(condition)).all()
        withdraw_of_documents(connection, lease.collection_id, replaced, "document_changed", now)


def _documents(connection: Connection, lease: Lease, ids: Iterable[str]) -> ColumnElement[bool]:
    """The condition that selects the collection's live documents of these ids."""
    has_id = documents.c.document_id.in_(listed(connection, possible_ids(ids)))
    return (documents.c.collection_id == lease.collection_id) & has_id


def _bury(connection: Connection, condition: ColumnElement[bool], generation: int) -> None:
    """Replace the rows of documents by tombstones."""
    places = select(documents.c.segment, documents.c.ordinal, literal(generation)).where(condition)
    connection.execute(insert(tombstones).from_select(["segment", "ordinal", "generation"], places))
    connection.execute(delete(documents).where(condition))


def _set_generation(connection: Connection, lease: Lease, generation: int, now: datetime) -> None:
    past_generations.remember(connection, lease.collection_id, generation - 1, now)
    connection.execute(update(collections).where(collections.c.id == lease.collection_id).values(generation=generation))


def retire_segments(
    connection: Connection, lease: Lease, names: abc.Collection[str], generation: int, now: datetime
) -> None:
    """Retire segments from this generation on, within a transaction, and delete their tombstones of it.

    Raises ``InvalidInput`` if a live document lies in one of them.
    """
    of_segments = documents.c.segment.in_(listed(connection, names))
    live = connection.scalar(select(func.count()).select_from(documents).where(of_segments))
    if live:
        raise InvalidInput(
            f"{live} live documents lie in the segments that should be retired",
            hint="Publish a segment that has them in the same step.",
            field="retires",
        )
    of_it = tombstones.c.segment.in_(listed(connection, names)) & (tombstones.c.generation >= generation)
    connection.execute(delete(tombstones).where(of_it))
    rows = (segments.c.collection_id == lease.collection_id) & segments.c.name.in_(listed(connection, names))
    connection.execute(update(segments).where(rows).values(retired_in=generation, retired_at=now))


@dataclass(frozen=True, slots=True)
class Kept:
    """The segments that the catalog names after a sweep, by name, and the generation then."""

    generation: int
    live: frozenset[str]
    retired: frozenset[str]


def forget_old(catalog: Catalog, lease: Lease, *, retired_until: datetime, withdrawn_until: datetime) -> Kept:
    """Delete the rows of segments that were retired, and of matches that were withdrawn, by these times."""
    with holding(catalog, lease) as (connection, generation):
        forget_withdrawn(connection, lease.collection_id, withdrawn_until)
        past_generations.forget(connection, lease.collection_id, retired_until)
        rows = (segments.c.collection_id == lease.collection_id) & (segments.c.retired_at <= retired_until)
        connection.execute(delete(tombstones).where(tombstones.c.segment.in_(select(segments.c.name).where(rows))))
        connection.execute(delete(segments).where(rows))
        live, retired = (
            frozenset(segment.name for segment in read(connection, lease.collection_id))
            for read in (live_segments, retired_segments)
        )
    return Kept(generation, live, retired)
