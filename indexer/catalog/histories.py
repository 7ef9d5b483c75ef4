"""Histories of thresholds, a collection's or a phrase's: rows that are only ever added, the last of which holds."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, insert, select

from indexer.errors import NothingToUndo
from indexer.tuning import Threshold, ThresholdChange, ThresholdOn, Tuning
from models.errors import InvalidInput

# The state before the first entry: no threshold.
_BEGINNING = 0


@dataclass(frozen=True, slots=True)
class History:
    """The rows of ``table`` whose columns have the values of ``key``. To undo is one more row."""

    table: Table
    key: Mapping[str, str]

    def now(self, connection: Connection) -> Threshold | None:
        """The threshold as it was set last."""
        newest = self._newest(connection)
        return None if newest is None else threshold(newest)

    def set(
        self, connection: Connection, value: float | None, on: ThresholdOn, tuning: Tuning, note: str, at: datetime
    ) -> None:
        """Set the threshold, or take it away (None). It names the calibration that is active now."""
        newest = self._newest(connection)
        before = _BEGINNING if newest is None else newest.number
        wanted = None if value is None else Threshold(value, on, tuning.raw(value, on), tuning.calibration_id)
        self._append(connection, before + 1, wanted, goes_back_to=before, note=note, undo=False, set_at=at)

    def undo(self, connection: Connection, whose: str, note: str, at: datetime) -> None:
        """Take the last change back that has not been taken back yet; raises ``NothingToUndo`` if there is none."""
        newest = self._newest(connection)
        if newest is None or newest.goes_back_to is None:
            raise NothingToUndo(
                f"No threshold of {whose} was set that could be taken back.", hint="See the threshold's history."
            )
        this = self._these & (self.table.c.number == newest.goes_back_to)
        earlier = connection.execute(select(self.table).where(this)).first()
        wanted = None if earlier is None else threshold(earlier)
        back_to = None if earlier is None else earlier.goes_back_to
        self._append(connection, newest.number + 1, wanted, goes_back_to=back_to, note=note, undo=True, set_at=at)

    def changes(self, connection: Connection) -> tuple[ThresholdChange, ...]:
        """All changes, the newest first."""
        rows = connection.execute(select(self.table).where(self._these).order_by(self.table.c.number)).all()
        states = [None, *map(threshold, rows)]
        changes = [
            ThresholdChange(row.set_at, before, after, row.note, row.undo)
            for row, before, after in zip(rows, states, states[1:], strict=False)
        ]
        return tuple(reversed(changes))

    @property
    def _these(self) -> ColumnElement[bool]:
        return and_(*(self.table.c[name] == value for name, value in self.key.items()))

    def _newest(self, connection: Connection) -> Row[*tuple[Any, ...]] | None:
        newest_first = select(self.table).where(self._these).order_by(self.table.c.number.desc())
        return connection.execute(newest_first.limit(1)).first()

    def _append(self, connection: Connection, number: int, wanted: Threshold | None, **values: object) -> None:
        connection.execute(insert(self.table).values(**self.key, number=number, **columns_of(wanted), **values))


def threshold(row: Row[*tuple[Any, ...]]) -> Threshold | None:
    """What a row of a history set; None where it took the threshold away."""
    return None if row.value is None else Threshold(row.value, row.scale, row.raw, row.calibration_id)


def columns_of(wanted: Threshold | None) -> dict[str, object]:
    """What a row says of the threshold that it sets."""
    if wanted is None:
        return {"value": None, "scale": "score", "raw": None, "calibration_id": None}
    found = asdict(wanted)
    return {"value": found["value"], "scale": found["on"], "raw": found["raw"], "calibration_id": found["calibration"]}


def checked_value(value: float | None) -> None:
    """Raise ``InvalidInput`` for a value outside [0, 1], NaN included."""
    if value is not None and not 0 <= value <= 1:
        raise InvalidInput(
            f"A threshold cannot be {value}.", hint="Choose a number from 0 to 1, or null for none.", field="threshold"
        )
