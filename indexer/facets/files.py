"""The files of the facets of a segment.

A row is a sentence with a word that the word vectors have; others have no facets. Rows are in the order of their units.
All numbers are little-endian.

=====================  ===============================================================================================
``facets.i8``          int8 [rows, facets, dim]: the facets of every sentence, quantised
``facet_scales.f32``   float32 [rows, facets]: the value of one step of a facet's int8 vector, which then has length 1
``facet_units.u32``    uint32 [rows]: the first unit of the sentence
=====================  ===============================================================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int, Int8, Integer

from indexer.representations.base import LiveRows
from indexer.representations.columns import ColumnFiles, live_pieces
from indexer.segments.mapping import mapped

CODES, SCALES, UNITS = FILES = ("facets.i8", "facet_scales.f32", "facet_units.u32")
_ROWS_A_PIECE = 4_096


@dataclass(frozen=True, slots=True)
class FacetRows:
    """Quantised facets of sentences and the first units of these, in memory or mapped from a segment's files."""

    codes: Int8[np.ndarray, "rows facets dim"]
    scales: Float32[np.ndarray, "rows facets"]
    units: Integer[np.ndarray, " rows"]

    @classmethod
    def open(cls, folder: Path, rows: int, facets: int, dim: int) -> "FacetRows":
        """Map the files of a segment."""
        return cls(
            mapped(folder / CODES, np.int8, (rows, facets, dim)),
            mapped(folder / SCALES, "<f4", (rows, facets)),
            mapped(folder / UNITS, "<u4", (rows,)),
        )

    def __len__(self) -> int:
        return len(self.units)

    def vectors(self, rows: Int[np.ndarray, " some"] | slice) -> Float32[np.ndarray, "some facets dim"]:
        """The unit facets of some rows."""
        return self.codes[rows].astype(np.float32) * self.scales[rows][..., None]


class FacetWriter:
    """Appends facets to the files of a segment that is being written."""

    def __init__(self, folder: Path) -> None:
        self._columns = ColumnFiles(folder, FILES)

    def append(self, rows: FacetRows, first_unit: int) -> None:
        """Append the facets of sentences, whose units are counted from this one."""
        units = (rows.units.astype(np.int64) + first_unit).astype("<u4")
        self._columns.append(rows.codes, rows.scales.astype("<f4"), units)

    def finish(self) -> int:
        """Close the files, and return the number of rows."""
        self.close()
        return self._columns.rows

    def close(self) -> None:
        """Close the files."""
        self._columns.close()


def copy_live(writer: FacetWriter, sources: Sequence[LiveRows]) -> None:
    """Append the facets of live documents, in pieces, their units renumbered."""
    for stored, some, gain in live_pieces(sources, _ROWS_A_PIECE):
        writer.append(FacetRows(stored.codes[some], stored.scales[some], stored.units[some]), gain)
