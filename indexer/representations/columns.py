"""Representations whose files are columns: what those whose rows lie in the order of their units have in common."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from indexer.representations.base import LiveRows, Stored
from indexer.types import Details
from models.interruption import checkpoint


@runtime_checkable
class ColumnRows(Protocol):
    """Rows that can be written as columns."""

    def __len__(self) -> int: ...

    def columns(self) -> Sequence[np.ndarray]:
        """A column for each file, the last of which has the unit of every row."""


class ArrayRows:
    """Rows whose columns are the fields of a dataclass; the last one is ``units``."""

    __slots__ = ()

    units: np.ndarray

    def __len__(self) -> int:
        return len(self.units)

    def columns(self) -> tuple[np.ndarray, ...]:
        """The fields, in order."""
        of_class: Any = self
        return tuple(getattr(self, field.name) for field in fields(of_class))

    def slice(self, first: int, last: int) -> Self:
        """The rows ``[first, last)``."""
        return type(self)(*(column[first:last] for column in self.columns()))

    def followed_by(self, others: Sequence[Self]) -> Self:
        """These rows and others, whose units count from the same one, behind each other."""
        columns = zip(*(each.columns() for each in (self, *others)), strict=True)
        return type(self)(*map(np.concatenate, columns))


class ColumnWriter:
    """Appends rows to files of a segment that is being written, one a column."""

    def __init__(self, folder: Path, columns: Mapping[str, str]) -> None:
        self._files = [((folder / name).open("wb"), dtype) for name, dtype in columns.items()]
        self.rows = 0

    def append(self, rows: ColumnRows, first_unit: int) -> None:
        """Append rows, whose units are counted from this one."""
        *columns, units = rows.columns()
        columns.append(units.astype(np.int64) + first_unit)
        for (file, dtype), column in zip(self._files, columns, strict=True):
            file.write(column.astype(dtype, copy=False).tobytes())
        self.rows += len(units)

    def finish(self) -> int:
        """Close the files, and return the number of rows."""
        self.close()
        return self.rows

    def close(self) -> None:
        """Close the files; again, if need be."""
        with ExitStack() as stack:  # closes the others where one fails
            for file, _ in self._files:
                stack.callback(file.close)


class ColumnRepresentation:
    """Writes and merges columns. Rows that it opens have ``slice`` and ``units``, as :class:`ArrayRows` do."""

    columns: ClassVar[Mapping[str, str]]  # the dtype of every file; the last one has units
    rows_a_piece: ClassVar[int]  # that are copied at once

    def write(self, folder: Path, details: Details) -> ColumnWriter:
        """Begin the files of a segment."""
        return ColumnWriter(folder, self.columns)

    def merge(self, folder: Path, details: Details, sources: Sequence[LiveRows]) -> int:
        """Copy the rows of live documents, their units renumbered, and return how many there are."""
        writer = self.write(folder, details)
        try:
            for stored, first, last, gain in _live_pieces(sources, self.rows_a_piece):
                writer.append(stored.slice(first, last), gain)
            return writer.finish()
        finally:
            writer.close()


def _live_pieces(sources: Sequence[LiveRows], rows_a_piece: int) -> Iterator[tuple[Stored, int, int, int]]:
    """Yield the rows of live documents in pieces: the stored rows, a range of them, and the shift of their units.

    ``stored.units`` is the first unit of every row, in order. The merged segment has the units of live documents alone,
    numbered from 0.
    """
    units = 0
    for source in sources:
        bounds = np.searchsorted(source.stored.units, source.units)
        for (first, last), (begin, end) in zip(source.units.tolist(), bounds.tolist(), strict=True):
            for start in range(begin, end, rows_a_piece):
                checkpoint()
                yield source.stored, start, min(start + rows_a_piece, end), units - first
            units += last - first
