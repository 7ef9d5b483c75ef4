"""The files of the nuggets of a segment.

Each nugget is stored as int8 codes and the scale that gives them length 1, so that a cosine with a unit-length query is
one dot product. Nuggets are numbered in the order of their units, so those of a part or document are contiguous. As in
``indexer.segments.layout``, all numbers are little-endian, and character offsets are code points of the document.

========================  ============================================================================================
``nuggets.i8``            int8 [nuggets, nugget dim]: nugget vectors, quantised
``nugget_scales.f32``     float32 [nuggets]: the value of one step of a nugget's int8 vector, which then has length 1
``nugget_spans.u32``      uint32 [nuggets, 2]: character span of every nugget's token, in its document
``nugget_units.u32``      uint32 [nuggets]: the unit that the token is part of, or nearest to
``nuggets.faiss``         FAISS index of nuggets (``indexer.ann.row_index``); only in segments with many
========================  ============================================================================================
"""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int, Int8, Integer, UInt8, UInt32

from indexer.nuggets.rows import NuggetRows
from indexer.representations.base import LiveRows
from indexer.representations.columns import ColumnFiles, live_pieces
from indexer.segments.mapping import mapped
from models.ops.quantization import quantize_directions

CODES = "nuggets.i8"
SCALES = "nugget_scales.f32"
SPANS = "nugget_spans.u32"
UNITS = "nugget_units.u32"
INDEX = "nuggets.faiss"
FILES = (CODES, SCALES, SPANS, UNITS)

# With fewer nuggets, a scan takes no time.
WORTH_INDEX = 100_000
_NUGGETS_A_PIECE = 16_384


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

    def document_bounds(
        self, document_units: Int[np.ndarray, " documents_and_one"]
    ) -> Int[np.ndarray, " documents_and_one"]:
        """Return the first nugget of every document, and the number of nuggets; found once for a segment."""
        if self._of_documents is None:
            self._of_documents = np.searchsorted(self.units, document_units)
        return self._of_documents


class NuggetWriter:
    """Appends nuggets to the files of a segment that is being written."""

    def __init__(self, folder: Path, dim: int) -> None:
        self._folder = folder
        self._dim = dim
        self._columns = ColumnFiles(folder, FILES)

    def append(self, rows: NuggetRows, first_unit: int) -> None:
        """Quantise and append nuggets of units that begin with this one."""
        codes, scales = quantize_directions(rows.vectors)
        self.append_columns(codes, scales, rows.spans, rows.units + first_unit)

    def append_columns(
        self,
        codes: Int8[np.ndarray, "nuggets dim"],
        scales: Float32[np.ndarray, " nuggets"],
        spans: Integer[np.ndarray, "nuggets 2"],
        units: Integer[np.ndarray, " nuggets"],
    ) -> None:
        """Append quantised nuggets; their units are those of the segment."""
        self._columns.append(codes, scales.astype("<f4"), spans.astype("<u4"), units.astype("<u4"))

    def finish(self) -> int:
        """Close the files, write the index of many nuggets, and return their number."""
        self.close()
        if self._columns.rows >= WORTH_INDEX:
            # Imported here because few collections need FAISS.
            from indexer.ann.row_index import write_row_index

            stored = StoredNuggets(self._folder, self._columns.rows, self._dim, ())
            write_row_index(self._folder / INDEX, stored.codes, stored.scales)
        return self._columns.rows

    def close(self) -> None:
        """Close the files."""
        self._columns.close()


def copy_live(writer: NuggetWriter, sources: Sequence[LiveRows]) -> None:
    """Append the nuggets of live documents, in pieces, their units renumbered."""
    for stored, some, gain in live_pieces(sources, _NUGGETS_A_PIECE):
        units = stored.units[some].astype(np.int64) + gain
        writer.append_columns(stored.codes[some], stored.scales[some], stored.spans[some], units)
