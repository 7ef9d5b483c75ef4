"""The thresholds of collections. Nothing of their history is ever changed: to undo is one more entry."""

from indexer.catalog.histories import checked_value
from indexer.catalog.names import checked_note
from indexer.catalog.repository import Catalog
from indexer.catalog.tunings import threshold_of, tuning_of
from indexer.tuning import ThresholdChange, ThresholdOn, Tuning


def set_threshold(
    catalog: Catalog, name: str, mode: str, value: float | None, on: ThresholdOn = "score", note: str = ""
) -> Tuning:
    """Set the collection's threshold for a mode, or take it away (None). It names the calibration that is active now.

    Raises ``InvalidInput`` for a value outside [0, 1], NaN included.
    """
    checked_value(value)
    note = checked_note(note)
    with catalog.changing(name) as (connection, collection_id):
        tuning = tuning_of(connection, collection_id, mode)
        threshold_of(collection_id, mode).set(connection, value, on, tuning, note, catalog.clock())
        return tuning_of(connection, collection_id, mode)


def undo_threshold(catalog: Catalog, name: str, mode: str, note: str = "") -> Tuning:
    """Take the last change back that has not been taken back yet; raises ``NothingToUndo`` if there is none."""
    note = checked_note(note)
    with catalog.changing(name) as (connection, collection_id):
        history = threshold_of(collection_id, mode)
        history.undo(connection, f"{name}, mode {mode},", note, catalog.clock())
        return tuning_of(connection, collection_id, mode)


def threshold_history(catalog: Catalog, name: str, mode: str) -> tuple[ThresholdChange, ...]:
    """All changes of a threshold, the newest first."""
    collection = catalog.collection(name)
    with catalog.database.glance() as connection:
        return threshold_of(collection.id, mode).changes(connection)
