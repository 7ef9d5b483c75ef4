"""Reading all phrases of a collection, as the matcher takes them."""

from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from indexer.catalog.histories import threshold
from indexer.catalog.matches import phrase_version
from indexer.catalog.phrase_rows import filter_of, phrases_of
from indexer.catalog.repository import Catalog
from indexer.catalog.tables import phrases
from indexer.catalog.tunings import tuning_of
from indexer.engine.multi_query import ManyQueries
from indexer.phrase_set import PhraseSet
from indexer.phrases import MODE
from indexer.tuning import Tuning


def read_phrase_set(catalog: Catalog, collection_id: str, known: PhraseSet | None = None) -> PhraseSet:
    """The collection's phrases and its tuning, of one moment; phrases that are ``known`` are not read again."""
    with catalog.database.snapshot() as connection:
        version = phrase_version(connection, collection_id)
        if not version:
            return PhraseSet(0, (), (), (), (), ManyQueries(np.zeros((0, 0), np.float32)), Tuning())
        tuning = tuning_of(connection, collection_id, MODE)
        if known is None or known.version != version:
            return _read(connection, collection_id, version, tuning)
    return known if known.tuning.is_that_of(tuning) else replace(known, tuning=tuning)


def _read(connection: Connection, collection_id: str, version: int, tuning: Tuning) -> PhraseSet:
    rows = connection.execute(phrases_of(collection_id).order_by(phrases.c.name)).all()
    numbers = np.frombuffer(b"".join(row.vector for row in rows), "<f4").astype(np.float32)
    return PhraseSet(
        version=version,
        names=tuple(row.name for row in rows),
        filters=tuple(map(filter_of, rows)),
        thresholds=tuple(map(threshold, rows)),
        changed_in=tuple(row.changed_in for row in rows),
        queries=ManyQueries(numbers.reshape(len(rows), -1) if rows else numbers.reshape(0, 0)),
        tuning=tuning,
    )
