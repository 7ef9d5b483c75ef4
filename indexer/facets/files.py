"""The files of the facets of a segment.

A row is a sentence with a word that the word vectors have; others have no facets. Rows are in the order of their units.
All numbers are little-endian.

=====================  ===============================================================================================
``facets.i8``          int8 [rows, facets, dim]: the facets of every sentence, quantised
``facet_scales.f32``   float32 [rows, facets]: the value of one step of a facet's int8 vector, which then has length 1
``facet_units.u32``    uint32 [rows]: the first unit of the sentence
=====================  ===============================================================================================
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float32, Int, Int8, Integer

from indexer.representations.columns import ArrayRows
from indexer.segments.mapping import mapped

NAME: Final = "facets"
CODES, SCALES, UNITS = "facets.i8", "facet_scales.f32", "facet_units.u32"
COLUMNS = {CODES: "i1", SCALES: "<f4", UNITS: "<u4"}


@dataclass(frozen=True, slots=True)
class FacetRows(ArrayRows):
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

    def vectors(self, rows: Int[np.ndarray, " some"] | slice) -> Float32[np.ndarray, "some facets dim"]:
        """The unit facets of some rows."""
        return self.codes[rows].astype(np.float32) * self.scales[rows][..., None]
