"""The files of the restorable vectors of a segment.

A row is a sentence, or a piece of one that is longer than a restorer reads. Rows are in the order of their units. All
numbers are little-endian.

=============================  =======================================================================================
``restorable_compared.i8``     int8 [rows, compared]: the vector of every sentence that searches compare, quantised
``restorable_scales.f32``      float32 [rows]: the value of one step of an int8 vector, which then has length 1
``restorable.f16``             float16 [vectors, dim - compared]: what every stretch of a sentence is restored from
``restorable_counts.u8``       uint8 [rows]: the number of a sentence's stretches
``restorable_units.u32``       uint32 [rows]: the first unit of the sentence
=============================  =======================================================================================
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float16, Float32, Int, Int8, Integer, UInt8

from indexer.arrays import starts_of
from indexer.representations.base import Storing
from indexer.representations.columns import ArrayRows
from indexer.segments.mapping import mapped
from models.encoders.restorable.base import Memory

NAME: Final = "restorable"
COMPARED, SCALES, VECTORS, COUNTS, UNITS = (
    "restorable_compared.i8",
    "restorable_scales.f32",
    "restorable.f16",
    "restorable_counts.u8",
    "restorable_units.u32",
)
COLUMNS = {COMPARED: "i1", SCALES: "<f4", VECTORS: "<f2", COUNTS: "u1", UNITS: "<u4"}


@dataclass(frozen=True)
class RestorableRows(ArrayRows):
    """Restorable vectors of sentences and the first units of these, in memory or mapped from a segment's files."""

    compared: Int8[np.ndarray, "rows compared"]
    scales: Float32[np.ndarray, " rows"]
    vectors: Float16[np.ndarray, "vectors rest"]
    counts: UInt8[np.ndarray, " rows"]
    units: Integer[np.ndarray, " rows"]

    @classmethod
    def open(cls, folder: Path, rows: int, dim: int, compared: int) -> "RestorableRows":
        """Map the files of a segment."""
        counts = mapped(folder / COUNTS, np.uint8, (rows,))
        return cls(
            mapped(folder / COMPARED, np.int8, (rows, compared)),
            mapped(folder / SCALES, "<f4", (rows,)),
            mapped(folder / VECTORS, "<f2", (int(counts.sum(dtype=np.int64)), dim - compared)),
            counts,
            mapped(folder / UNITS, "<u4", (rows,)),
        )

    @cached_property
    def bounds(self) -> Int[np.ndarray, " rows_and_one"]:
        """The first vector of every row, and the number of vectors."""
        return starts_of(self.counts)

    def slice(self, first: int, last: int) -> "RestorableRows":
        """The rows ``[first, last)``."""
        rows, vectors = slice(first, last), slice(*self.bounds[[first, last]].tolist())
        return RestorableRows(
            self.compared[rows], self.scales[rows], self.vectors[vectors], self.counts[rows], self.units[rows]
        )

    def memory(self, row: int) -> Memory:
        """The vectors of a row, as a restorer takes them."""
        rest = self.vectors[slice(*self.bounds[row : row + 2].tolist())].astype(np.float32)
        unit = self.compared[row].astype(np.float32) * self.scales[row]
        compared = np.broadcast_to(unit * len(unit) ** 0.5, (len(rest), len(unit)))
        return np.concatenate([compared, rest], axis=1)


def no_rows(dim: int, compared: int) -> RestorableRows:
    """Rows of no sentences."""
    return RestorableRows(
        np.zeros((0, compared), np.int8),
        np.zeros(0, np.float32),
        np.zeros((0, dim - compared), np.float16),
        np.zeros(0, np.uint8),
        np.zeros(0, np.int64),
    )


def stored_restorable(segment: Storing) -> RestorableRows:
    """The restorable vectors of a segment whose collection has some."""
    stored: RestorableRows = segment.stored[NAME]
    return stored
