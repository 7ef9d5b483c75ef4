"""The inverse norms of a segment's spans, computed from its stored vectors (``layout`` says how they lie)."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int, Int8, Int32, UInt8

from indexer import kernels
from indexer.segments import layout
from indexer.segments.mapping import mapped
from indexer.types import Recipe
from models.interruption import checked
from models.types import SpanBounds

# Blocks per pass of the norm kernel: bounds its memory, whatever the size of the segment, and how long a search may
# have to wait for its turn: milliseconds.
_BLOCKS_A_PASS = 4


class BlockNorms(NamedTuple):
    """The inverse norms of some blocks: codes, what they stand for, and the error they may cause."""

    codes: UInt8[np.ndarray, "blocks lengths {layout.BLOCK}"]
    affine: Float32[np.ndarray, "blocks lengths 2"]
    errors: Float32[np.ndarray, " blocks"]


def write_norms(folder: Path, recipe: Recipe, part_units: Int[np.ndarray, " parts_and_one"]) -> None:
    """Write the three files of inverse norms; ``part_units`` has the first unit of every part, and their number."""
    units = int(part_units[-1])
    vectors = mapped(folder / layout.VECTORS, np.int8, (units, recipe.dim))
    scales = mapped(folder / layout.SCALES, "<f4", (units,))
    with (
        (folder / layout.NORM_CODES).open("wb") as codes_file,
        (folder / layout.NORM_AFFINE).open("wb") as affine_file,
        (folder / layout.NORM_ERRORS).open("wb") as errors_file,
    ):
        for norms in norms_by_pass(vectors, scales, part_units, recipe.bounds):
            codes_file.write(norms.codes.tobytes())
            affine_file.write(norms.affine.astype("<f4").tobytes())
            errors_file.write(norms.errors.astype("<f4").tobytes())


def norms_by_pass(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    part_units: Int[np.ndarray, " parts_and_one"],
    bounds: SpanBounds,
) -> Iterator[BlockNorms]:
    """The inverse norms of all spans within the bounds, some blocks at a time."""
    stride, units = _BLOCKS_A_PASS * layout.BLOCK, len(vectors)
    for begin in checked(range(0, units, stride)):
        # The last spans of a pass reach into the next: those units are seen, but start no block here.
        end = min(units, begin + stride + bounds.longest - 1)
        norms = kernels.inverse_norms(
            vectors[begin:end],
            np.array(scales[begin:end]),
            _room(part_units, begin, end),
            bounds.shortest,
            bounds.longest,
        )
        blocks = -(-min(stride, units - begin) // layout.BLOCK)
        yield BlockNorms(*(values[:blocks] for values in norms))


def _room(part_units: Int[np.ndarray, " parts_and_one"], begin: int, end: int) -> Int32[np.ndarray, " units"]:
    """The units from each unit of ``begin`` to ``end`` to the end of its part, itself included."""
    units = np.arange(begin, end)
    part_ends = part_units[np.searchsorted(part_units, units, side="right")]
    return (part_ends - units).astype(np.int32)
