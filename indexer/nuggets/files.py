"""The files of the nuggets of a segment.

Each nugget is stored as int8 codes and the scale that gives them length 1, so that a cosine with a unit-length query is
one dot product. Nuggets are numbered in the order of their units: a part or document has a run of them. As in
``indexer.segments.layout``, all numbers are little-endian, and character offsets are code points of the document.

========================  ============================================================================================
``nuggets.i8``            int8 [nuggets, nugget dim]: nugget vectors, quantised
``nugget_scales.f32``     float32 [nuggets]: the value of one step of a nugget's int8 vector, which then has length 1
``nugget_spans.u32``      uint32 [nuggets, 2]: character span of every nugget's token, in its document
``nugget_units.u32``      uint32 [nuggets]: the unit that the token is part of, or nearest to
``nuggets.faiss``         FAISS index of nuggets (``indexer.ann.row_index``); only in segments with many
========================  ============================================================================================
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int, Int8, Integer, UInt8, UInt32

from indexer.representations.columns import ArrayRows, ColumnWriter
from indexer.segments.mapping import mapped

CODES = "nuggets.i8"
SCALES = "nugget_scales.f32"
SPANS = "nugget_spans.u32"
UNITS = "nugget_units.u32"
INDEX = "nuggets.faiss"
COLUMNS = {CODES: "i1", SCALES: "<f4", SPANS: "<u4", UNITS: "<u4"}

# With fewer nuggets, a scan takes no time.
WORTH_INDEX = 100_000


@dataclass(frozen=True, slots=True)
class QuantizedNuggets(ArrayRows):
    """Nuggets as files have them."""

    codes: Int8[np.ndarray, "nuggets dim"]
    scales: Float32[np.ndarray, " nuggets"]
    spans: Integer[np.ndarray, "nuggets 2"]
    units: Integer[np.ndarray, " nuggets"]


class StoredNuggets:
    """The columns of nuggets of a segment, mapped into memory; ``index`` is empty where there is none."""

    codes: Int8[np.ndarray, "nuggets dim"]
    scales: Float32[np.ndarray, " nuggets"]
    spans: UInt32[np.ndarray, "nuggets 2"]
    units: UInt32[np.ndarray, " nuggets"]
    index: UInt8[np.ndarray, " bytes"]

    def __init__(self, folder: Path, nuggets: int, dim: int, files: Collection[str]) -> None:
        self.codes = mapped(folder / CODES, np.int8, (nuggets, dim))
        self.scales = mapped(folder / SCALES, "<f4", (nuggets,))
        self.spans = mapped(folder / SPANS, "<u4", (nuggets, 2))
        self.units = mapped(folder / UNITS, "<u4", (nuggets,))
        index = folder / INDEX
        self.index = mapped(index, np.uint8, (index.stat().st_size,)) if INDEX in files else np.zeros(0, np.uint8)
        self._of_documents: Int[np.ndarray, " documents_and_one"] | None = None

    def __len__(self) -> int:
        return len(self.units)

    def slice(self, first: int, last: int) -> QuantizedNuggets:
        """The nuggets ``[first, last)``."""
        return QuantizedNuggets(self.codes, self.scales, self.spans, self.units).slice(first, last)

    def document_bounds(
        self, document_units: Int[np.ndarray, " documents_and_one"]
    ) -> Int[np.ndarray, " documents_and_one"]:
        """Return the first nugget of every document, and the number of nuggets; found once for a segment."""
        if self._of_documents is None:
            self._of_documents = np.searchsorted(self.units, document_units)
        return self._of_documents


class NuggetWriter(ColumnWriter):
    """Appends nuggets to the files of a segment, and writes an index of many."""

    def __init__(self, folder: Path, dim: int) -> None:
        super().__init__(folder, COLUMNS)
        self._folder, self._dim = folder, dim

    def finish(self) -> int:
        """Close the files, write the index of many nuggets, and return their number."""
        self.close()
        if self.rows >= WORTH_INDEX:
            # Imported here because few collections need FAISS.
            from indexer.ann.row_index import write_row_index

            stored = StoredNuggets(self._folder, self.rows, self._dim, ())
            write_row_index(self._folder / INDEX, stored.codes, stored.scales)
        return self.rows
