"""Files of columns: what representations whose rows lie in the order of their units have in common."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from indexer.representations.base import LiveRows, Stored


class ColumnFiles:
    """Files of a segment that is being written, one a column."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._files = [(folder / name).open("wb") for name in names]
        self.rows = 0

    def append(self, *columns: np.ndarray) -> None:
        """Append as many rows to every file; the last column has one value a row."""
        for file, column in zip(self._files, columns, strict=True):
            file.write(column.tobytes())
        self.rows += len(columns[-1])

    def close(self) -> None:
        """Close the files; again, if need be."""
        with ExitStack() as stack:  # closes the others where one fails
            for file in self._files:
                stack.callback(file.close)


def live_pieces(sources: Sequence[LiveRows], rows_a_piece: int) -> Iterator[tuple[Stored, slice, int]]:
    """Yield the rows of live documents in pieces: what a segment has stored, the rows, and what their units gain.

    ``stored.units`` is the first unit of every row, in order. The units of the merged segment are those of live
    documents alone, numbered from 0.
    """
    units = 0
    for source in sources:
        bounds = np.searchsorted(source.stored.units, source.units)
        for (first, last), (begin, end) in zip(source.units.tolist(), bounds.tolist(), strict=True):
            for start in range(begin, end, rows_a_piece):
                yield source.stored, slice(start, min(start + rows_a_piece, end)), units - first
            units += last - first
