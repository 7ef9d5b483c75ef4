"""Whole clauses, sentences and parts of a segment, and the inverse norms of their vectors.

They may be longer than the spans of the collection. Every unit belongs to one clause, one sentence and one part.
"""

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Float32, Int, UInt8

from indexer import kernels
from indexer.errors import SegmentCorrupt
from indexer.segments import layout
from indexer.segments.mapping import mapped
from indexer.types import Recipe
from models.borders import Boundary, whole_starts

_ORDER: Final[tuple[Boundary, ...]] = ("clause", "sentence", "part")


class Wholes(NamedTuple):
    """All clauses, sentences or parts of a segment: their first units with the number of units, and inverse norms.

    An inverse norm of 0 stands for a vector of length 0.
    """

    bounds: Int[np.ndarray, " wholes_and_one"]
    inverse_norms: Float32[np.ndarray, " wholes"]


def write_whole_norms(folder: Path, recipe: Recipe, part_units: Int[np.ndarray, " parts_and_one"]) -> None:
    """Write the inverse norms of a segment whose vectors and border codes are complete."""
    units = int(part_units[-1])
    vectors = mapped(folder / layout.VECTORS, np.int8, (units, recipe.dim))
    scales = mapped(folder / layout.SCALES, "<f4", (units,))
    codes = mapped(folder / layout.BORDERS, np.uint8, (units,))
    with (folder / layout.WHOLE_NORMS).open("wb") as file:
        for boundary in _ORDER:
            norms = kernels.whole_norms(vectors, scales, _bounds(codes, boundary))
            file.write(norms.astype("<f4").tobytes())


def read_wholes(
    inverse_norms: Float32[np.ndarray, " all"], codes: UInt8[np.ndarray, " units"]
) -> dict[Boundary, Wholes]:
    """All wholes of a segment, from the inverse norms that it stores; the bounds follow from its border codes."""
    bounds = {boundary: _bounds(codes, boundary) for boundary in _ORDER}
    ends = np.cumsum([len(each) - 1 for each in bounds.values()])
    if len(inverse_norms) != ends[-1]:
        raise SegmentCorrupt(f"{len(inverse_norms)} norms of {ends[-1]} clauses, sentences and parts are stored.")
    pieces = np.split(inverse_norms, ends[:-1])
    return {boundary: Wholes(bounds[boundary], piece) for boundary, piece in zip(_ORDER, pieces, strict=True)}


def _bounds(codes: UInt8[np.ndarray, " units"], boundary: Boundary) -> Int[np.ndarray, " wholes_and_one"]:
    return np.append(whole_starts(codes, boundary), len(codes)) if len(codes) else np.zeros(1, np.int64)
