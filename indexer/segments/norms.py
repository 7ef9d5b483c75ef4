"""The inverse norms of a segment's spans, computed from its stored vectors (``layout`` says how they lie)."""

from pathlib import Path

import numpy as np
from jaxtyping import Int, Int32

from indexer import kernels
from indexer.segments import layout
from indexer.segments.mapping import mapped
from indexer.types import Recipe

# Blocks per pass of the norm kernel: bounds its memory, whatever the size of the segment, and how long a search may
# have to wait for its turn: milliseconds.
_BLOCKS_A_PASS = 4


def write_norms(folder: Path, recipe: Recipe, part_units: Int[np.ndarray, " parts_and_one"]) -> None:
    """Write the three files of inverse norms; ``part_units`` has the first unit of every part, and their number."""
    bounds, units = recipe.bounds, int(part_units[-1])
    vectors = mapped(folder / layout.VECTORS, np.int8, (units, recipe.dim))
    scales = mapped(folder / layout.SCALES, "<f4", (units,))
    with (
        (folder / layout.NORM_CODES).open("wb") as codes_file,
        (folder / layout.NORM_AFFINE).open("wb") as affine_file,
        (folder / layout.NORM_ERRORS).open("wb") as errors_file,
    ):
        stride = _BLOCKS_A_PASS * layout.BLOCK
        for begin in range(0, units, stride):
            # The last spans of a pass reach into the next: those units are seen, but start no block here.
            end = min(units, begin + stride + bounds.longest - 1)
            codes, affine, errors = kernels.inverse_norms(
                vectors[begin:end],
                np.array(scales[begin:end]),
                _room(part_units, begin, end),
                bounds.shortest,
                bounds.longest,
            )
            blocks = -(-min(stride, units - begin) // layout.BLOCK)
            codes_file.write(codes[:blocks].tobytes())
            affine_file.write(affine[:blocks].astype("<f4").tobytes())
            errors_file.write(errors[:blocks].astype("<f4").tobytes())


def _room(part_units: Int[np.ndarray, " parts_and_one"], begin: int, end: int) -> Int32[np.ndarray, " units"]:
    """The units from each unit of ``begin`` to ``end`` to the end of its part, itself included."""
    units = np.arange(begin, end)
    part_ends = part_units[np.searchsorted(part_units, units, side="right")]
    return (part_ends - units).astype(np.int32)
