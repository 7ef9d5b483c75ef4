"""Saved phrases. Every change of a collection's phrases is one commit and one version of their set."""

from collections import abc
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from jaxtyping import Float32
from sqlalchemy import Connection, delete, func, insert, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.matches import retag, withdraw_of_phrases
from indexer.catalog.names import checked_note, checked_phrase_name, checked_phrase_text, checked_tags
from indexer.catalog.phrase_rows import (
    PhraseRow,
    existing_phrases,
    filter_columns,
    find_phrase,
    find_phrases,
    history_of,
    next_version,
    own_tuning,
    phrase_from,
    phrases_of,
    read_phrase,
)
from indexer.catalog.sql import holds_any, listed
from indexer.catalog.tables import phrase_thresholds, phrases
from indexer.catalog.thresholds import columns_of, tuning_of
from indexer.errors import PhraseExists
from indexer.phrases import MODE, Phrase, PhraseChanges, PhraseDraft, Saved
from indexer.segments.columns import canonical
from indexer.tuning import Threshold, ThresholdChange, ThresholdOn, check_threshold
from models.errors import InvalidInput
from models.types import QueryVectors

# Vectors of 384 numbers for all of them, with their codes, take about 300 MB.
MAX_PHRASES = 100_000

_Columns = dict[str, Any]

# Columns that decide what a phrase matches, and all columns that callers set.
_QUERY = ("text", "document_filter", "part_filter", "filter_expression", "likely_only")
_SETTABLE = (*_QUERY, "note", "tags", "paused")


def save_phrases(
    catalog: Catalog, name: str, drafts: Sequence[PhraseDraft], vectors: QueryVectors, *, replace: bool = True
) -> list[Saved]:
    """Save phrases with their query vectors. A draft of an existing name changes that phrase.

    Raises ``PhraseExists`` for an existing name unless ``replace``, and ``InvalidInput`` for a draft that cannot be
    stored; nothing is saved then. Where text, filter or ``likely_only`` change, the phrase's matches are withdrawn.
    """
    for draft in drafts:
        _check(draft)
    if len({draft.name for draft in drafts}) < len(drafts):
        raise InvalidInput("Two of the phrases have one name.", hint="Give each its own.", field="name")
    with catalog.locked(name) as (connection, collection_id):
        rows = existing_phrases(connection, collection_id, [draft.name for draft in drafts])
        if rows and not replace:
            taken = next(draft.name for draft in drafts if draft.name in rows)
            raise PhraseExists(
                f"The collection {name} has a phrase {taken!r} already.",
                hint="Change it, or choose another name.",
                field="name",
            )
        _refuse_too_many(connection, collection_id, len(drafts) - len(rows))
        writer = _Writer(connection, collection_id, catalog.clock())
        return writer.save(drafts, vectors, rows)


def change_phrase(
    catalog: Catalog, name: str, phrase: str, changes: PhraseChanges, vectors: QueryVectors | None = None
) -> Phrase:
    """Change fields of a phrase; a new text needs its query vector. Raises ``PhraseNotFound``."""
    checked_note(changes.note or "")
    checked_tags(changes.tags or ())
    if changes.text is not None:
        checked_phrase_text(changes.text)
    with catalog.locked(name) as (connection, collection_id):
        old = find_phrase(connection, collection_id, name, phrase)
        values = _changed_columns(changes, vectors)
        if _differs(values, old, _SETTABLE):
            writer = _Writer(connection, collection_id, catalog.clock())
            writer.change({phrase: values}, {phrase: old})
        return read_phrase(connection, collection_id, name, phrase)


def saved_vectors(
    catalog: Catalog, name: str, names: Iterable[str]
) -> dict[str, tuple[str, Float32[np.ndarray, " dim"]]]:
    """The texts and the query vectors of the named phrases that exist."""
    with catalog.reading(name) as (connection, collection_id):
        rows = existing_phrases(connection, collection_id, names)
    return {name: (row.text, np.frombuffer(row.vector, "<f4").astype(np.float32)) for name, row in rows.items()}


def delete_phrases(catalog: Catalog, name: str, names: Iterable[str]) -> frozenset[str]:
    """Delete phrases with their thresholds, and withdraw their matches; returns the names of those that existed."""
    with catalog.locked(name) as (connection, collection_id):
        existing = frozenset(existing_phrases(connection, collection_id, names))
        if existing:
            now = catalog.clock()
            next_version(connection, collection_id)
            withdraw_of_phrases(connection, collection_id, existing, "phrase_deleted", now)
            for table, column in ((phrase_thresholds, phrase_thresholds.c.phrase), (phrases, phrases.c.name)):
                rows = (table.c.collection_id == collection_id) & column.in_(listed(connection, existing))
                connection.execute(delete(table).where(rows))
    return existing


def get_phrase(catalog: Catalog, name: str, phrase: str) -> Phrase:
    """One phrase. Raises ``PhraseNotFound``."""
    with catalog.reading(name) as (connection, collection_id):
        return read_phrase(connection, collection_id, name, phrase)


def require_phrases(catalog: Catalog, name: str, names: abc.Sequence[str]) -> None:
    """Raise ``PhraseNotFound`` unless all of these phrases exist."""
    with catalog.reading(name) as (connection, collection_id):
        find_phrases(connection, collection_id, name, names)


def unpaused(catalog: Catalog, name: str, names: Iterable[str]) -> dict[str, bool]:
    """Those of the named phrases that exist and are not paused, by name; true for those with ``likely_only``."""
    with catalog.reading(name) as (connection, collection_id):
        rows = existing_phrases(connection, collection_id, names)
    return {name: row.likely_only for name, row in sorted(rows.items()) if not row.paused}


def list_phrases(
    catalog: Catalog, name: str, limit: int, after: str = "", tags: abc.Collection[str] = ()
) -> list[Phrase]:
    """At most ``limit`` phrases whose names follow ``after``, by name; with ``tags`` those that have one of them."""
    with catalog.reading(name) as (connection, collection_id):
        tuning = tuning_of(connection, collection_id, MODE)
        page = phrases_of(collection_id).where(phrases.c.name > after).order_by(phrases.c.name).limit(limit)
        if tags:
            page = page.where(holds_any(connection, phrases.c.tags, tags))
        return [phrase_from(row, tuning) for row in connection.execute(page)]


class _Writer:
    """A change of a collection's phrases within its transaction. ``rows`` are the existing rows, by name."""

    def __init__(self, connection: Connection, collection_id: str, now: datetime) -> None:
        self._connection = connection
        self._collection_id = collection_id
        self._now = now
        self._tuning = tuning_of(connection, collection_id, MODE)

    def save(self, drafts: Sequence[PhraseDraft], vectors: QueryVectors, rows: Mapping[str, PhraseRow]) -> list[Saved]:
        columns = {draft.name: _columns(draft, vector) for draft, vector in zip(drafts, vectors, strict=True)}
        new = [draft for draft in drafts if draft.name not in rows]
        old = [draft for draft in drafts if draft.name in rows]
        edited = {draft.name for draft in old if _differs(columns[draft.name], rows[draft.name], _SETTABLE)}
        retuned = [draft for draft in old if self._sets_threshold(draft, rows[draft.name])]
        if new:
            self._add(new, columns)
        changed = edited | {draft.name for draft in retuned}
        if changed:
            self.change({name: columns[name] for name in changed}, rows)
        for draft in retuned:
            history = history_of(self._collection_id, draft.name)
            history.set(self._connection, draft.number, draft.threshold_on, self._tuning, "", self._now)
        return [
            "created" if draft.name not in rows else "changed" if draft.name in changed else "unchanged"
            for draft in drafts
        ]

    def change(self, columns: Mapping[str, _Columns], rows: Mapping[str, PhraseRow]) -> None:
        """Change rows; withdraw matches of phrases whose text, filter or ``likely_only`` change; tag others anew."""
        version = next_version(self._connection, self._collection_id)
        requeried = [name for name, values in columns.items() if _differs(values, rows[name], _QUERY)]
        withdraw_of_phrases(self._connection, self._collection_id, requeried, "phrase_changed", self._now)
        for name, values in columns.items():
            if _differs(values, rows[name], ("tags",)):
                retag(self._connection, self._collection_id, name, values["tags"])
        for name, values in columns.items():
            row = (phrases.c.collection_id == self._collection_id) & (phrases.c.name == name)
            stamped = values | {"changed_in": version, "changed_at": self._now}
            self._connection.execute(update(phrases).where(row).values(**stamped))

    def _add(self, drafts: Sequence[PhraseDraft], columns: Mapping[str, _Columns]) -> None:
        shared = {
            "collection_id": self._collection_id,
            "changed_in": next_version(self._connection, self._collection_id),
            "created_at": self._now,
            "changed_at": self._now,
        }
        new = [{"name": draft.name} | columns[draft.name] | shared for draft in drafts]
        self._connection.execute(insert(phrases), new)
        entry = {"number": 1, "goes_back_to": 0, "undo": False, "note": "", "set_at": self._now}
        own = [
            {"collection_id": self._collection_id, "phrase": draft.name} | columns_of(self._threshold(draft)) | entry
            for draft in drafts
            if draft.threshold is not None
        ]
        if own:  # without any, SQLAlchemy would insert one row of nothing
            self._connection.execute(insert(phrase_thresholds), own)

    def _threshold(self, draft: PhraseDraft) -> Threshold | None:
        if (value := draft.number) is None:
            return None
        raw = self._tuning.raw(value, draft.threshold_on)
        return Threshold(value, draft.threshold_on, raw, self._tuning.calibration_id)

    def _sets_threshold(self, draft: PhraseDraft, row: PhraseRow) -> bool:
        """True if a draft has another threshold than the phrase, under the active calibration."""
        present = own_tuning(row, self._tuning).present_threshold
        return (draft.threshold, draft.threshold_on) != (
            (None, draft.threshold_on) if present is None else (present.value, present.on)
        )


def _check(draft: PhraseDraft) -> None:
    checked_phrase_name(draft.name)
    checked_phrase_text(draft.text)
    checked_note(draft.note)
    checked_tags(draft.tags)
    check_threshold(draft.threshold)


def _refuse_too_many(connection: Connection, collection_id: str, more: int) -> None:
    rows = phrases.c.collection_id == collection_id
    count = connection.scalar(select(func.count()).select_from(phrases).where(rows)) or 0
    if count + more > MAX_PHRASES:
        raise InvalidInput(
            f"The collection has {count:,} phrases; with {more:,} more it would have over {MAX_PHRASES:,}.",
            hint="Delete phrases, or save these with another collection.",
            field="phrases",
        )


def _columns(draft: PhraseDraft, vector: Float32[np.ndarray, " dim"]) -> _Columns:
    return {
        "text": draft.text,
        "note": draft.note,
        "tags": list(draft.tags),
        "paused": draft.paused,
        "likely_only": draft.likely_only,
        "vector": _bytes(vector),
        **filter_columns(draft.filter),
    }


def _changed_columns(changes: PhraseChanges, vectors: QueryVectors | None) -> _Columns:
    values: _Columns = {
        "text": changes.text,
        "note": changes.note,
        "paused": changes.paused,
        "likely_only": changes.likely_only,
    }
    if changes.tags is not None:
        values["tags"] = list(changes.tags)
    if changes.filter is not None:
        values |= filter_columns(changes.filter)
    if vectors is not None:
        values["vector"] = _bytes(vectors[0])
    return {name: value for name, value in values.items() if value is not None}


def _bytes(vector: Float32[np.ndarray, " dim"]) -> bytes:
    return vector.astype("<f4").tobytes()


def _differs(values: _Columns, row: PhraseRow, columns: Sequence[str]) -> bool:
    """True if values differ from a row's in any of the columns, as JSON: true is not 1."""
    return any(name in values and canonical(values[name]) != canonical(getattr(row, name)) for name in columns)


def set_phrase_threshold(
    catalog: Catalog, name: str, phrase: str, value: float | None, on: ThresholdOn = "score", note: str = ""
) -> Phrase:
    """Set a phrase's own threshold, or remove it (None). It records the active calibration.

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
    """Undo the last change that is not yet undone. Raises ``NothingToUndo`` if there is none."""
    note = checked_note(note)
    with catalog.locked(name) as (connection, collection_id):
        find_phrase(connection, collection_id, name, phrase)
        history_of(collection_id, phrase).undo(connection, f"the phrase {phrase}", note, catalog.clock())
        return _touched(connection, catalog, (collection_id, name, phrase))


def phrase_threshold_history(catalog: Catalog, name: str, phrase: str) -> tuple[ThresholdChange, ...]:
    """All changes of a phrase's own threshold, the newest first."""
    with catalog.reading(name) as (connection, collection_id):
        find_phrase(connection, collection_id, name, phrase)
        return history_of(collection_id, phrase).changes(connection)


def _touched(connection: Connection, catalog: Catalog, key: tuple[str, str, str]) -> Phrase:
    """Increment the version of the set, and return the phrase."""
    collection_id, collection, phrase = key
    row = (phrases.c.collection_id == collection_id) & (phrases.c.name == phrase)
    version = next_version(connection, collection_id)
    connection.execute(update(phrases).where(row).values(changed_in=version, changed_at=catalog.clock()))
    return read_phrase(connection, collection_id, collection, phrase)
