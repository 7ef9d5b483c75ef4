"""Saved phrases: every change of a collection's phrases is one commit and one version of their set."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from jaxtyping import Float32
from sqlalchemy import Connection, delete, func, insert, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.matches import withdraw_of_phrases
from indexer.catalog.names import checked_note, checked_phrase_name, checked_phrase_text
from indexer.catalog.phrase_rows import (
    PhraseRow,
    find_phrase,
    history_of,
    known_phrases,
    next_version,
    own_tuning,
    phrase_from,
    phrases_of,
    read_phrase,
    reading,
)
from indexer.catalog.sql import listed
from indexer.catalog.tables import phrase_thresholds, phrases
from indexer.catalog.thresholds import columns_of, tuning_of
from indexer.errors import PhraseExists
from indexer.phrases import MODE, Phrase, PhraseChanges, PhraseDraft, Saved
from indexer.segments.columns import canonical
from indexer.tuning import Threshold, ThresholdChange, ThresholdOn, check_threshold
from models.errors import InvalidInput
from models.types import QueryVectors

# So many vectors of 384 numbers, with what is made of them, take about 300 MB.
MAX_PHRASES = 100_000

_Columns = dict[str, Any]

# Columns that say what a phrase asks for, and all that can be seen of it.
_ASKED = ("text", "document_filter", "part_filter")
_KEPT = (*_ASKED, "note")


def save_phrases(
    catalog: Catalog, name: str, drafts: Sequence[PhraseDraft], vectors: QueryVectors, *, replace: bool = True
) -> list[Saved]:
    """Save phrases, given with their query vectors; one whose name is there already becomes what the draft says.

    Raises ``PhraseExists`` for such a name if nothing may be replaced, and ``InvalidInput`` for what cannot be kept;
    nothing is saved then. Where a text or a filter changes, what the phrase had matched is withdrawn.
    """
    for draft in drafts:
        _check(draft)
    if len({draft.name for draft in drafts}) < len(drafts):
        raise InvalidInput("Two of the phrases have one name.", hint="Give each its own.", field="name")
    with catalog.locked(name) as (connection, collection_id):
        known = known_phrases(connection, collection_id, [draft.name for draft in drafts])
        if known and not replace:
            taken = next(draft.name for draft in drafts if draft.name in known)
            raise PhraseExists(
                f"The collection {name} has a phrase {taken!r} already.",
                hint="Change it, or choose another name.",
                field="name",
            )
        _refuse_too_many(connection, collection_id, len(drafts) - len(known))
        writer = _Writer(connection, collection_id, catalog.clock())
        return writer.save(drafts, vectors, known)


def change_phrase(
    catalog: Catalog, name: str, phrase: str, changes: PhraseChanges, vectors: QueryVectors | None = None
) -> Phrase:
    """Change some of a phrase; a new text comes with its query vector. Raises ``PhraseNotFound``."""
    checked_note(changes.note or "")
    if changes.text is not None:
        checked_phrase_text(changes.text)
    with catalog.locked(name) as (connection, collection_id):
        old = find_phrase(connection, collection_id, name, phrase)
        values = _changed_columns(changes, vectors)
        if _differs(values, old, _KEPT):
            writer = _Writer(connection, collection_id, catalog.clock())
            writer.change({phrase: values}, {phrase: old})
        return phrase_from(
            find_phrase(connection, collection_id, name, phrase), tuning_of(connection, collection_id, MODE)
        )


def saved_vectors(
    catalog: Catalog, name: str, names: Iterable[str]
) -> dict[str, tuple[str, Float32[np.ndarray, " dim"]]]:
    """The text and the query vector of those phrases that there are."""
    with reading(catalog, name) as (connection, collection_id):
        known = known_phrases(connection, collection_id, names)
    return {name: (row.text, np.frombuffer(row.vector, "<f4").astype(np.float32)) for name, row in known.items()}


def delete_phrases(catalog: Catalog, name: str, names: Iterable[str]) -> frozenset[str]:
    """Delete phrases with their thresholds, withdraw their matches, and return the names of those there were."""
    with catalog.locked(name) as (connection, collection_id):
        there = frozenset(known_phrases(connection, collection_id, names))
        if there:
            now = catalog.clock()
            next_version(connection, collection_id)
            withdraw_of_phrases(connection, collection_id, there, "phrase_deleted", now)
            for table, column in ((phrase_thresholds, phrase_thresholds.c.phrase), (phrases, phrases.c.name)):
                these = (table.c.collection_id == collection_id) & column.in_(listed(connection, there))
                connection.execute(delete(table).where(these))
    return there


def get_phrase(catalog: Catalog, name: str, phrase: str) -> Phrase:
    """One phrase. Raises ``PhraseNotFound``."""
    with reading(catalog, name) as (connection, collection_id):
        return phrase_from(
            find_phrase(connection, collection_id, name, phrase), tuning_of(connection, collection_id, MODE)
        )


def list_phrases(catalog: Catalog, name: str, limit: int, after: str = "") -> list[Phrase]:
    """The phrases whose names follow ``after``, by name, at most ``limit``."""
    with reading(catalog, name) as (connection, collection_id):
        tuning = tuning_of(connection, collection_id, MODE)
        these = phrases_of(collection_id).where(phrases.c.name > after).order_by(phrases.c.name).limit(limit)
        return [phrase_from(row, tuning) for row in connection.execute(these)]


class _Writer:
    """One change of a collection's phrases, within its transaction; ``known`` is the rows that were there before."""

    def __init__(self, connection: Connection, collection_id: str, now: datetime) -> None:
        self._connection = connection
        self._collection_id = collection_id
        self._now = now
        self._tuning = tuning_of(connection, collection_id, MODE)

    def save(self, drafts: Sequence[PhraseDraft], vectors: QueryVectors, known: Mapping[str, PhraseRow]) -> list[Saved]:
        columns = {draft.name: _columns(draft, row) for draft, row in zip(drafts, vectors, strict=True)}
        new = [draft for draft in drafts if draft.name not in known]
        old = [draft for draft in drafts if draft.name in known]
        differ = {draft.name for draft in old if _differs(columns[draft.name], known[draft.name], _KEPT)}
        moved = [draft for draft in old if self._moves(draft, known[draft.name])]
        if new:
            self._add(new, columns)
        touched = differ | {draft.name for draft in moved}
        if touched:
            self.change({name: columns[name] for name in touched}, known)
        for draft in moved:
            history = history_of(self._collection_id, draft.name)
            history.set(self._connection, draft.threshold, draft.threshold_on, self._tuning, "", self._now)
        return [
            "created" if draft.name not in known else "changed" if draft.name in touched else "unchanged"
            for draft in drafts
        ]

    def change(self, columns: Mapping[str, _Columns], known: Mapping[str, PhraseRow]) -> None:
        """Change rows; what is no longer the same question has not found the old answers."""
        version = next_version(self._connection, self._collection_id)
        other = [name for name, values in columns.items() if _differs(values, known[name], _ASKED)]
        withdraw_of_phrases(self._connection, self._collection_id, other, "phrase_changed", self._now)
        for name, values in columns.items():
            this = (phrases.c.collection_id == self._collection_id) & (phrases.c.name == name)
            stamped = values | {"changed_in": version, "changed_at": self._now}
            self._connection.execute(update(phrases).where(this).values(**stamped))

    def _add(self, drafts: Sequence[PhraseDraft], columns: Mapping[str, _Columns]) -> None:
        alike = {
            "collection_id": self._collection_id,
            "changed_in": next_version(self._connection, self._collection_id),
            "created_at": self._now,
            "changed_at": self._now,
        }
        rows = [{"name": draft.name} | columns[draft.name] | alike for draft in drafts]
        self._connection.execute(insert(phrases), rows)
        first = {"number": 1, "goes_back_to": 0, "undo": False, "note": "", "set_at": self._now}
        own = [
            {"collection_id": self._collection_id, "phrase": draft.name} | columns_of(self._wanted(draft)) | first
            for draft in drafts
            if draft.threshold is not None
        ]
        if own:  # without any, SQLAlchemy would insert one row of nothing
            self._connection.execute(insert(phrase_thresholds), own)

    def _wanted(self, draft: PhraseDraft) -> Threshold | None:
        if draft.threshold is None:
            return None
        raw = self._tuning.raw(draft.threshold, draft.threshold_on)
        return Threshold(draft.threshold, draft.threshold_on, raw, self._tuning.calibration_id)

    def _moves(self, draft: PhraseDraft, row: PhraseRow) -> bool:
        """Whether a draft has another threshold than a phrase has now, told in the scores of now."""
        present = own_tuning(row, self._tuning).present_threshold
        return (draft.threshold, draft.threshold_on) != (
            (None, draft.threshold_on) if present is None else (present.value, present.on)
        )


def _check(draft: PhraseDraft) -> None:
    checked_phrase_name(draft.name)
    checked_phrase_text(draft.text)
    checked_note(draft.note)
    check_threshold(draft.threshold)


def _refuse_too_many(connection: Connection, collection_id: str, more: int) -> None:
    these = phrases.c.collection_id == collection_id
    there = connection.scalar(select(func.count()).select_from(phrases).where(these)) or 0
    if there + more > MAX_PHRASES:
        raise InvalidInput(
            f"The collection has {there:,} phrases; with {more:,} more it would have over {MAX_PHRASES:,}.",
            hint="Delete phrases that nobody needs, or save these with another collection.",
            field="phrases",
        )


def _columns(draft: PhraseDraft, vector: Float32[np.ndarray, " dim"]) -> _Columns:
    return {
        "text": draft.text,
        "document_filter": dict(draft.filter.document),
        "part_filter": dict(draft.filter.part),
        "note": draft.note,
        "vector": _bytes(vector),
    }


def _changed_columns(changes: PhraseChanges, vectors: QueryVectors | None) -> _Columns:
    values: _Columns = {"text": changes.text, "note": changes.note}
    if changes.filter is not None:
        values |= {"document_filter": dict(changes.filter.document), "part_filter": dict(changes.filter.part)}
    if vectors is not None:
        values["vector"] = _bytes(vectors[0])
    return {name: value for name, value in values.items() if value is not None}


def _bytes(vector: Float32[np.ndarray, " dim"]) -> bytes:
    return vector.astype("<f4").tobytes()


def _differs(values: _Columns, row: PhraseRow, columns: Sequence[str]) -> bool:
    """Whether some of a row's columns would change. True is not 1 here, whatever Python says."""
    return any(name in values and canonical(values[name]) != canonical(getattr(row, name)) for name in columns)


def set_phrase_threshold(
    catalog: Catalog, name: str, phrase: str, value: float | None, on: ThresholdOn = "score", note: str = ""
) -> Phrase:
    """Set a phrase's own threshold, or take it away (None). It names the calibration that is active now.

    Raises ``PhraseNotFound``, and ``InvalidInput`` for a value outside [0, 1], NaN included.
    """
    check_threshold(value)
    note = checked_note(note)
    with catalog.locked(name) as (connection, collection_id):
        find_phrase(connection, collection_id, name, phrase)
        tuning = tuning_of(connection, collection_id, MODE)
        history_of(collection_id, phrase).set(connection, value, on, tuning, note, catalog.clock())
        return _touched(connection, catalog, (collection_id, name, phrase))


def undo_phrase_threshold(catalog: Catalog, name: str, phrase: str, note: str = "") -> Phrase:
    """Take the last change back that has not been taken back yet; raises ``NothingToUndo`` if there is none."""
    note = checked_note(note)
    with catalog.locked(name) as (connection, collection_id):
        find_phrase(connection, collection_id, name, phrase)
        history_of(collection_id, phrase).undo(connection, f"the phrase {phrase}", note, catalog.clock())
        return _touched(connection, catalog, (collection_id, name, phrase))


def phrase_threshold_history(catalog: Catalog, name: str, phrase: str) -> tuple[ThresholdChange, ...]:
    """All changes of a phrase's own threshold, the newest first."""
    with reading(catalog, name) as (connection, collection_id):
        find_phrase(connection, collection_id, name, phrase)
        return history_of(collection_id, phrase).changes(connection)


def _touched(connection: Connection, catalog: Catalog, key: tuple[str, str, str]) -> Phrase:
    """The phrase as it is now, once its set has counted the change."""
    collection_id, collection, phrase = key
    this = (phrases.c.collection_id == collection_id) & (phrases.c.name == phrase)
    version = next_version(connection, collection_id)
    connection.execute(update(phrases).where(this).values(changed_in=version, changed_at=catalog.clock()))
    return read_phrase(connection, collection_id, collection, phrase)
