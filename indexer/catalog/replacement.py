"""Replace all that a collection stores by what another collection holds, in one transaction.

A collection is reindexed beside itself, into a collection of its own; the segments then change hands. Everything that
belongs to the name stays: thresholds, calibrations, saved phrases, their matches, and keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from sqlalchemy import Connection, delete, select, update

from indexer.catalog import past_generations
from indexer.catalog.calibration_rows import insert_calibration
from indexer.catalog.collections import Catalog, recipe_columns
from indexer.catalog.leases import Lease, holding
from indexer.catalog.matches import forget_texts, phrase_version
from indexer.catalog.phrase_rows import history_of, next_version, phrases_of
from indexer.catalog.publish import delete_rows
from indexer.catalog.tables import (
    active_calibrations,
    calibrations,
    collections,
    documents,
    phrases,
    segments,
    thresholds,
    tombstones,
)
from indexer.catalog.thresholds import History, threshold_of, tuning_of
from indexer.errors import LeaseLost
from indexer.phrases import MODE
from indexer.tuning import CalibrationDraft, Tuning
from indexer.types import Collection

_NOTE = "Kept when the collection was reindexed."


class PhrasesChanged(Exception):
    """A phrase was saved or deleted after the phrases were encoded."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The content that takes the place of a collection's.

    ``vectors`` are those of the saved phrases by the new encoder, read at ``phrase_version``; ``fingerprints`` are what
    calibrations of each mode have to belong to; ``calibration`` becomes active unless the active one does.
    """

    built: Collection
    vectors: Mapping[str, np.ndarray]
    phrase_version: int
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    calibration: CalibrationDraft | None = None


def replace_content(catalog: Catalog, held: Lease, new: Replacement) -> int:
    """Move the segments of the built collection to the leased one, which gets its recipe; returns the new generation.

    The previous segments are retired; if the new recipe stores no texts, matches lose theirs. The row of the built
    collection is deleted; the files of its segments must lie in the leased collection's folder already. Raises
    ``PhrasesChanged``, and ``LeaseLost`` if the built collection has changed.
    """
    with holding(catalog, held, names=True) as (connection, before):
        _check_unchanged(connection, held, new)
        now, generation = catalog.clock(), before + 1
        modes = _modes(connection, held.collection_id)
        tunings = {mode: tuning_of(connection, held.collection_id, mode) for mode in modes}
        own = _own_thresholds(connection, held.collection_id, tunings[MODE])
        _move_segments(connection, held.collection_id, new.built.id, generation, now)
        row = collections.c.id == held.collection_id
        connection.execute(
            update(collections).where(row).values(**recipe_columns(new.built.recipe), generation=generation)
        )
        past_generations.forget(connection, held.collection_id)
        _calibrate(connection, held.collection_id, new, now)
        for mode, tuning in tunings.items():
            _keep_score(connection, threshold_of(held.collection_id, mode), tuning, held.collection_id, mode, now)
        for phrase, tuning in own.items():
            _keep_score(connection, history_of(held.collection_id, phrase), tuning, held.collection_id, MODE, now)
        _encode_phrases(connection, held.collection_id, new)
        if not new.built.recipe.stores_text:
            forget_texts(connection, held.collection_id)
    return catalog.note_published(held.collection_id, generation)


def _check_unchanged(connection: Connection, held: Lease, new: Replacement) -> None:
    row = select(collections.c.generation).where(collections.c.id == new.built.id).with_for_update()
    if connection.scalar(row) != new.built.generation:
        raise LeaseLost(
            f"The new content of {held.collection!r} was changed by another process; nothing was replaced",
            hint="Start the job again; it goes on where it stopped.",
        )
    if phrase_version(connection, held.collection_id) != new.phrase_version:
        raise PhrasesChanged


def _modes(connection: Connection, collection_id: str) -> set[str]:
    """The modes that have a threshold, and the mode of phrases."""
    rows = select(thresholds.c.mode).where(thresholds.c.collection_id == collection_id).distinct()
    return {MODE, *connection.scalars(rows)}


def _own_thresholds(connection: Connection, collection_id: str, tuning: Tuning) -> dict[str, Tuning]:
    """The tuning of every phrase that has a threshold of its own."""
    tunings = {}
    for name in connection.scalars(select(phrases.c.name).where(phrases.c.collection_id == collection_id)).all():
        own = history_of(collection_id, name).current(connection)
        if own is not None:
            tunings[name] = Tuning(own, tuning.calibration_id, tuning.knots)
    return tunings


def _move_segments(connection: Connection, old: str, new: str, generation: int, now: datetime) -> None:
    of_old = select(segments.c.name).where(segments.c.collection_id == old, segments.c.retired_in.is_(None))
    names = connection.scalars(of_old).all()
    connection.execute(delete(documents).where(documents.c.collection_id == old))
    connection.execute(delete(tombstones).where(tombstones.c.segment.in_(names)))
    retired = (segments.c.collection_id == old) & segments.c.retired_in.is_(None)
    connection.execute(update(segments).where(retired).values(retired_in=generation, retired_at=now))
    moved = update(segments).where(segments.c.collection_id == new, segments.c.retired_in.is_(None))
    connection.execute(moved.values(collection_id=old, added_in=generation))
    connection.execute(update(documents).where(documents.c.collection_id == new).values(collection_id=old))
    delete_rows(connection, new)


def _calibrate(connection: Connection, collection_id: str, new: Replacement, now: datetime) -> None:
    """Deactivate calibrations of other scores, and activate the given one where none is left of its mode."""
    active = connection.execute(
        select(calibrations)
        .join_from(active_calibrations, calibrations)
        .where(active_calibrations.c.collection_id == collection_id)
    ).all()
    bounds = new.built.recipe.bounds
    fits = {
        row.mode
        for row in active
        if (row.fingerprint, row.shortest, row.longest)
        == (new.fingerprints.get(row.mode), bounds.shortest, bounds.longest)
    }
    for row in active:
        if row.mode not in fits:
            connection.execute(delete(active_calibrations).where(active_calibrations.c.calibration_id == row.id))
    if new.calibration is not None and new.calibration.mode not in fits:
        insert_calibration(connection, collection_id, new.calibration, now, activate=True)


def _keep_score(
    connection: Connection, history: History, before: Tuning, collection_id: str, mode: str, now: datetime
) -> None:
    """Set a threshold on score again at the same score: its raw was one of the previous encoder."""
    threshold, after = before.present_threshold, tuning_of(connection, collection_id, mode)
    if threshold is not None and threshold.on == "score" and after.calibration_id != before.calibration_id:
        history.set(connection, threshold.value, "score", after, _NOTE, now)


def _encode_phrases(connection: Connection, collection_id: str, new: Replacement) -> None:
    if not new.phrase_version:
        return
    for name in connection.scalars(select(phrases.c.name).where(phrases.c.collection_id == collection_id)).all():
        row = (phrases.c.collection_id == collection_id) & (phrases.c.name == name)
        vector = np.asarray(new.vectors[name], "<f4").tobytes()
        connection.execute(update(phrases).where(row).values(vector=vector))
    next_version(connection, collection_id)


def phrase_texts(catalog: Catalog, collection_id: str) -> tuple[int, dict[str, str]]:
    """The version of a collection's saved phrases, and their texts by name."""
    with catalog.database.snapshot() as connection:
        rows = connection.execute(phrases_of(collection_id)).all()
        return phrase_version(connection, collection_id), {row.name: row.text for row in rows}


def likely_phrases(catalog: Catalog, collection_id: str) -> list[str]:
    """The names of a collection's saved phrases that keep likely matches alone."""
    with catalog.database.snapshot() as connection:
        return [row.name for row in connection.execute(phrases_of(collection_id)) if row.likely_only]


def unlike(catalog: Catalog, one: Collection, other: Collection) -> tuple[frozenset[str], frozenset[str]]:
    """The ids that the other collection lacks or has with other content, and the ids that only the other has."""
    with catalog.database.snapshot() as connection:
        hashes = [
            {
                row.document_id: row.content_hash
                for row in connection.execute(
                    select(documents.c.document_id, documents.c.content_hash).where(documents.c.collection_id == id)
                )
            }
            for id in (one.id, other.id)
        ]
    missing = frozenset(id for id, value in hashes[0].items() if hashes[1].get(id) != value)
    return missing, frozenset(hashes[1].keys() - hashes[0].keys())
