"""A labelling session: candidates are answered, skipped or reset one by one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.calibration.label_files import LabelRow, read_label_rows, write_label_rows


class LabellingSession:
    """The rows of a label file that have no answer yet. Every answer is saved at once.

    A skipped row keeps no answer and comes again in the next session.
    """

    def __init__(self, path: Path, rows: Sequence[LabelRow]) -> None:
        self._path = path
        self._rows = rows
        self._open = [number for number, row in enumerate(rows) if not row.is_answered]
        self._at = 0

    @classmethod
    def open(cls, path: Path) -> "LabellingSession":
        """The session of a file. Raises ``LabelsRefused`` for a file that cannot be read."""
        return cls(path, read_label_rows(path))

    @property
    def total(self) -> int:
        """The number of rows."""
        return len(self._rows)

    @property
    def answered(self) -> int:
        """The number of rows with an answer."""
        return sum(row.is_answered for row in self._rows)

    @property
    def current(self) -> dict[str, Any] | None:
        """The row to answer next; None at the end."""
        return self._rows[self._open[self._at]].values if self._at < len(self._open) else None

    def answer(self, *, match: bool) -> None:
        """Answer the current row, save, and go to the next."""
        self._set(("yes" if match else "no") if self._path.suffix == ".csv" else match)
        self._at += 1

    def skip(self) -> None:
        """Go to the next row without an answer."""
        self._at += 1

    def undo(self) -> bool:
        """Go back to the previous row and delete its answer. False at the beginning of the session."""
        if not self._at:
            return False
        self._at -= 1
        self._set("" if self._path.suffix == ".csv" else None)
        return True

    def _set(self, match: object) -> None:
        self._rows[self._open[self._at]].values["match"] = match
        write_label_rows(self._path, [row.values for row in self._rows])
