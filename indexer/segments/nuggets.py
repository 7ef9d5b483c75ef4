"""The nuggets of a segment: vectors of length 1, where their tokens stand, and which units these belong to.

Each nugget is stored as int8 codes and the scale that gives them length 1, so that a cosine with a unit-length query is
one dot product. ``layout`` documents the files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Float32, Int, Int8, UInt32

from indexer.segments import layout
from indexer.segments.mapping import mapped
from models.ops.quantization import quantize_directions

FILES = (layout.NUGGETS, layout.NUGGET_SCALES, layout.NUGGET_SPANS, layout.NUGGET_UNITS)


@dataclass(frozen=True, slots=True)
class NuggetRows:
    """Nuggets to be written, in order.

    ``spans`` are their tokens' characters in the document; ``units`` rise, and count from the first of the units that
    are written with them.
    """

    vectors: Float32[np.ndarray, "nuggets dim"]
    spans: Int[np.ndarray, "nuggets 2"]
    units: Int[np.ndarray, " nuggets"]

    def __len__(self) -> int:
        return len(self.units)


def concatenated(rows: Sequence[NuggetRows], dim: int) -> NuggetRows:
    """Nuggets of several texts, whose units count from the same one, one behind the other.

    >>> len(concatenated([], dim=4))
    0
    """
    return NuggetRows(
        np.concatenate([np.zeros((0, dim), np.float32), *(of_text.vectors for of_text in rows)]),
        np.concatenate([np.zeros((0, 2), np.int64), *(of_text.spans for of_text in rows)]),
        np.concatenate([np.zeros(0, np.int64), *(of_text.units for of_text in rows)]),
    )


class NuggetWriter:
    """Appends nuggets to the files of a segment that is being written."""

    def __init__(self, files: Mapping[str, BinaryIO]) -> None:
        self._files = files
        self.nuggets = 0

    def append(self, rows: NuggetRows, first_unit: int) -> None:
        """Quantise and append nuggets of units that begin with this one."""
        codes, scales = quantize_directions(rows.vectors)
        columns = (
            codes,
            scales.astype("<f4"),
            rows.spans.astype("<u4"),
            (rows.units + first_unit).astype("<u4"),
        )
        for name, column in zip(FILES, columns, strict=True):
            self._files[name].write(column.tobytes())
        self.nuggets += len(rows)


@dataclass(frozen=True, slots=True)
class StoredNuggets:
    """The columns of nuggets of a segment, mapped into memory."""

    codes: Int8[np.ndarray, "nuggets dim"]
    scales: Float32[np.ndarray, " nuggets"]
    spans: UInt32[np.ndarray, "nuggets 2"]
    units: UInt32[np.ndarray, " nuggets"]

    def __len__(self) -> int:
        return len(self.units)


def no_stored_nuggets() -> StoredNuggets:
    """What a segment of a collection without nuggets has."""
    none = np.zeros(0, np.uint32)
    return StoredNuggets(np.zeros((0, 1), np.int8), np.zeros(0, np.float32), np.zeros((0, 2), np.uint32), none)


def map_nuggets(folder: Path, nuggets: int, dim: int) -> StoredNuggets:
    """Map the files of a segment that has so many nuggets; raises ``SegmentCorrupt`` where their sizes do not fit."""
    return StoredNuggets(
        mapped(folder / layout.NUGGETS, np.int8, (nuggets, dim)),
        mapped(folder / layout.NUGGET_SCALES, "<f4", (nuggets,)),
        mapped(folder / layout.NUGGET_SPANS, "<u4", (nuggets, 2)),
        mapped(folder / layout.NUGGET_UNITS, "<u4", (nuggets,)),
    )
