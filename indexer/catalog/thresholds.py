"""The thresholds of collections, with their history. Rows are never changed: undoing appends one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, Table, and_, insert, select

from indexer.catalog.collections import Catalog, named
from indexer.catalog.names import checked_note
from indexer.catalog.tables import active_calibrations, calibrations, collections, thresholds
from indexer.errors import NothingToUndo
from indexer.tuning import Threshold, ThresholdChange, ThresholdOn, Tuning, check_threshold
from models.ops.calibrate import IDENTITY


def set_threshold(
    catalog: Catalog, name: str, mode: str, value: float | None, on: ThresholdOn = "score", note: str = ""
) -> Tuning:
    """Set the collection's threshold for a mode, or remove it (None). It records the active calibration.

    Raises ``InvalidInput`` for a value outside [0, 1], NaN included.
    """
    check_threshold(value)
    note = checked_note(note)
    with catalog.locked(name) as (connection, collection_id):
        tuning = tuning_of(connection, collection_id, mode)
        threshold_of(collection_id, mode).set(connection, value, on, tuning, note, catalog.clock())
        return tuning_of(connection, collection_id, mode)


def undo_threshold(catalog: Catalog, name: str, mode: str, note: str = "") -> Tuning:
    """Undo the last change that is not yet undone. Raises ``NothingToUndo`` if there is none."""
    note = checked_note(note)
    with catalog.locked(name) as (connection, collection_id):
        history = threshold_of(collection_id, mode)
        history.undo(connection, f"{name}, mode {mode},", note, catalog.clock())
        return tuning_of(connection, collection_id, mode)


def threshold_history(catalog: Catalog, name: str, mode: str) -> tuple[ThresholdChange, ...]:
    """All changes of a threshold, the newest first."""
    with catalog.reading(name) as (connection, collection_id):
        return threshold_of(collection_id, mode).changes(connection)


# The state before the first entry: no threshold.
_BEGINNING = 0


@dataclass(frozen=True, slots=True)
class History:
    """The history of a threshold: the rows of ``table`` whose columns have the values of ``key``."""

    table: Table
    key: Mapping[str, str]

    def current(self, connection: Connection) -> Threshold | None:
        """The threshold that was set last."""
        newest = self._newest(connection)
        return None if newest is None else threshold(newest)

    def set(
        self, connection: Connection, value: float | None, on: ThresholdOn, tuning: Tuning, note: str, at: datetime
    ) -> None:
        """Set the threshold, or remove it (None). It records the active calibration."""
        newest = self._newest(connection)
        before = _BEGINNING if newest is None else newest.number
        new = None if value is None else Threshold(value, on, tuning.raw(value, on), tuning.calibration_id)
        self._append(connection, before + 1, new, goes_back_to=before, note=note, undo=False, set_at=at)

    def undo(self, connection: Connection, whose: str, note: str, at: datetime) -> None:
        """Undo the last change that is not yet undone. Raises ``NothingToUndo`` if there is none."""
        newest = self._newest(connection)
        if newest is None or newest.goes_back_to is None:
            raise NothingToUndo(
                f"There is no change of the threshold of {whose} to undo.", hint="See the threshold's history."
            )
        row = self._rows & (self.table.c.number == newest.goes_back_to)
        earlier = connection.execute(select(self.table).where(row)).first()
        previous = None if earlier is None else threshold(earlier)
        back_to = None if earlier is None else earlier.goes_back_to
        self._append(connection, newest.number + 1, previous, goes_back_to=back_to, note=note, undo=True, set_at=at)

    def changes(self, connection: Connection) -> tuple[ThresholdChange, ...]:
        """All changes, the newest first."""
        rows = connection.execute(select(self.table).where(self._rows).order_by(self.table.c.number)).all()
        states = [None, *map(threshold, rows)]
        changes = [
            ThresholdChange(row.set_at, before, after, row.note, row.undo)
            for row, before, after in zip(rows, states, states[1:], strict=False)
        ]
        return tuple(reversed(changes))

    @property
    def _rows(self) -> ColumnElement[bool]:
        return and_(*(self.table.c[name] == value for name, value in self.key.items()))

    def _newest(self, connection: Connection) -> Row[*tuple[Any, ...]] | None:
        newest_first = select(self.table).where(self._rows).order_by(self.table.c.number.desc())
        return connection.execute(newest_first.limit(1)).first()

    def _append(self, connection: Connection, number: int, new: Threshold | None, **values: object) -> None:
        connection.execute(insert(self.table).values(**self.key, number=number, **columns_of(new), **values))


def threshold(row: Row[*tuple[Any, ...]]) -> Threshold | None:
    """The threshold that a row of a history set, or None if it removed the threshold."""
    return None if row.value is None else Threshold(row.value, row.scale, row.raw, row.calibration_id)


def columns_of(new: Threshold | None) -> dict[str, object]:
    """The columns of a row that sets or removes a threshold."""
    if new is None:
        return {"value": None, "scale": "score", "raw": None, "calibration_id": None}
    return {"value": new.value, "scale": new.on, "raw": new.raw, "calibration_id": new.calibration}


def read_tuning(catalog: Catalog, name: str, mode: str) -> Tuning:
    """The collection's tuning for a mode; the default tuning if there is no such collection."""
    with catalog.database.snapshot() as connection:
        collection_id = connection.scalar(select(collections.c.id).where(named(name)))
        return Tuning() if collection_id is None else tuning_of(connection, collection_id, mode)


def tuning_of(connection: Connection, collection_id: str, mode: str) -> Tuning:
    """As :func:`read_tuning`, within a snapshot or a transaction that holds the collection's lock."""
    of_mode = (active_calibrations.c.collection_id == collection_id) & (active_calibrations.c.mode == mode)
    active = connection.execute(
        select(calibrations.c.id, calibrations.c.knots, calibrations.c.fingerprint)
        .join_from(calibrations, active_calibrations)
        .where(of_mode)
    ).first()
    return Tuning(
        threshold=threshold_of(collection_id, mode).current(connection),
        calibration_id=None if active is None else active.id,
        knots=IDENTITY if active is None else np.array(active.knots, np.float64),
        fingerprint=None if active is None else active.fingerprint,
    )


def threshold_of(collection_id: str, mode: str) -> History:
    """The history of a collection's threshold."""
    return History(thresholds, {"collection_id": collection_id, "mode": mode})
