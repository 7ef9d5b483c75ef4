"""Read the rows of live documents."""

from sqlalchemy import select

from indexer.catalog.repository import Catalog
from indexer.catalog.tables import documents
from indexer.types import Collection


def live_document_ids(catalog: Catalog, collection: Collection, segment: str) -> set[str]:
    """Return the ids of the live documents that the catalog places in a segment."""
    rows = select(documents.c.document_id).where(
        documents.c.collection_id == collection.id, documents.c.segment == segment
    )
    with catalog.database.glance() as connection:
        return set(connection.scalars(rows))
