"""The thresholds of saved phrases, each with its history, as those of collections."""

from sqlalchemy import Connection, update

from indexer.catalog.histories import checked_value
from indexer.catalog.names import checked_note
from indexer.catalog.phrase_rows import find_phrase, history_of, next_version, read_phrase, reading
from indexer.catalog.repository import Catalog
from indexer.catalog.tables import phrases
from indexer.catalog.tunings import tuning_of
from indexer.phrases import MODE, Phrase
from indexer.tuning import ThresholdChange, ThresholdOn


def set_phrase_threshold(
    catalog: Catalog, name: str, phrase: str, value: float | None, on: ThresholdOn = "score", note: str = ""
) -> Phrase:
    """Set a phrase's own threshold, or take it away (None). It names the calibration that is active now.

    Raises ``PhraseNotFound``, and ``InvalidInput`` for a value outside [0, 1], NaN included.
    """
    checked_value(value)
    note = checked_note(note)
    with catalog.changing(name) as (connection, collection_id):
        find_phrase(connection, collection_id, name, phrase)
        tuning = tuning_of(connection, collection_id, MODE)
        history_of(collection_id, phrase).set(connection, value, on, tuning, note, catalog.clock())
        return _touched(connection, catalog, (collection_id, name, phrase))


def undo_phrase_threshold(catalog: Catalog, name: str, phrase: str, note: str = "") -> Phrase:
    """Take the last change back that has not been taken back yet; raises ``NothingToUndo`` if there is none."""
    note = checked_note(note)
    with catalog.changing(name) as (connection, collection_id):
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
