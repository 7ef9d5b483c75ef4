"""The thresholds of collections. Nothing of their history is ever changed: to undo is one more entry."""

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from indexer.catalog.names import checked_note
from indexer.catalog.repository import Catalog
from indexer.catalog.tables import thresholds
from indexer.catalog.tunings import newest_threshold, threshold, thresholds_of, tuning_of
from indexer.errors import NothingToUndo
from indexer.tuning import Threshold, ThresholdChange, ThresholdOn, Tuning
from models.errors import InvalidInput

# The state before the first entry: no threshold.
_BEGINNING = 0


def set_threshold(
    catalog: Catalog, name: str, mode: str, value: float | None, on: ThresholdOn = "score", note: str = ""
) -> Tuning:
    """Set the collection's threshold for a mode, or take it away (None). It names the calibration that is active now.

    Raises ``InvalidInput`` for a value outside [0, 1], NaN included.
    """
    if value is not None and not 0 <= value <= 1:
        raise InvalidInput(
            f"A threshold cannot be {value}.", hint="Choose a number from 0 to 1, or null for none.", field="threshold"
        )
    note = checked_note(note)
    with catalog.changing(name) as (connection, collection_id):
        newest = newest_threshold(connection, collection_id, mode)
        before = _BEGINNING if newest is None else newest.number
        tuning = tuning_of(connection, collection_id, mode)
        wanted = None if value is None else Threshold(value, on, tuning.raw(value, on), tuning.calibration_id)
        _append(connection, catalog, (collection_id, mode, before + 1), wanted, before, note, undo=False)
        return tuning_of(connection, collection_id, mode)


def undo_threshold(catalog: Catalog, name: str, mode: str, note: str = "") -> Tuning:
    """Take the last change back that has not been taken back yet; raises ``NothingToUndo`` if there is none."""
    note = checked_note(note)
    with catalog.changing(name) as (connection, collection_id):
        newest = newest_threshold(connection, collection_id, mode)
        if newest is None or newest.goes_back_to is None:
            raise NothingToUndo(
                f"No threshold of {name} was set for mode {mode} that could be taken back.",
                hint="See the threshold's history.",
            )
        earlier = _entry(connection, collection_id, mode, newest.goes_back_to)
        wanted = None if earlier is None else threshold(earlier)
        back_to = None if earlier is None else earlier.goes_back_to
        _append(connection, catalog, (collection_id, mode, newest.number + 1), wanted, back_to, note, undo=True)
        return tuning_of(connection, collection_id, mode)


def threshold_history(catalog: Catalog, name: str, mode: str) -> tuple[ThresholdChange, ...]:
    """All changes of a threshold, the newest first."""
    collection = catalog.collection(name)
    with catalog.database.glance() as connection:
        rows = connection.execute(
            select(thresholds).where(thresholds_of(collection.id, mode)).order_by(thresholds.c.number)
        ).all()
    states = [None, *map(threshold, rows)]
    changes = [
        ThresholdChange(row.set_at, before, after, row.note, row.undo)
        for row, before, after in zip(rows, states, states[1:], strict=False)
    ]
    return tuple(reversed(changes))


def _entry(connection: Connection, collection_id: str, mode: str, number: int) -> Row[*tuple[Any, ...]] | None:
    this = thresholds_of(collection_id, mode) & (thresholds.c.number == number)
    return connection.execute(select(thresholds).where(this)).first()


def _append(
    connection: Connection,
    catalog: Catalog,
    key: tuple[str, str, int],
    wanted: Threshold | None,
    goes_back_to: int | None,
    note: str,
    *,
    undo: bool,
) -> None:
    collection_id, mode, number = key
    nothing = {"value": None, "on": "score", "raw": None, "calibration": None}
    state = nothing if wanted is None else asdict(wanted)
    connection.execute(
        insert(thresholds).values(
            collection_id=collection_id,
            mode=mode,
            number=number,
            value=state["value"],
            scale=state["on"],
            raw=state["raw"],
            calibration_id=state["calibration"],
            goes_back_to=goes_back_to,
            note=note,
            undo=undo,
            set_at=catalog.clock(),
        )
    )
