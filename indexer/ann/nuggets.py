"""Nuggets in a FAISS index, which says which documents of a large segment are worth scoring.

A document that answers a query well has, for some vector of the query, one of the nuggets nearest to it: so the
documents of these nuggets hold the best ones, nearly always. They are scored exactly like any others.
"""

from pathlib import Path

import faiss
import numpy as np
from jaxtyping import Int

from indexer.ann.inverted_lists import DIM_A_CODE, SEED, TRAINED_ON, empty_index, lists_for, open_index
from indexer.segments import layout
from indexer.segments.mapping import mapped
from indexer.segments.reader import Segment
from indexer.types import Recipe
from models.ops.quantization import dequantize
from models.types import QueryVectors

# Fewer nuggets are scanned in no time.
WORTH_INDEX = 100_000
PROBES = 32
_NUGGETS_AT_ONCE = 65_536


class NuggetIndex:
    """The nuggets of one segment, by direction."""

    def __init__(self, index: faiss.Index) -> None:
        self._index = index

    def nearest(self, vectors: QueryVectors, count: int) -> Int[np.ndarray, "queries count"]:
        """The rows of the nuggets nearest to every vector; -1 where there are fewer."""
        return self._index.search(np.ascontiguousarray(vectors, np.float32), count)[1]


def open_nugget_index(segment: Segment) -> NuggetIndex:
    """Read a segment's index of nuggets; raises ``SegmentCorrupt`` where a bit is not what was published."""
    return NuggetIndex(open_index(segment, layout.NUGGET_INDEX, segment.nugget_index))


def write_nugget_index(folder: Path, recipe: Recipe, part_units: Int[np.ndarray, " parts_and_one"]) -> None:
    """Write the index of a segment whose nuggets are complete; nothing where there are too few to be worth it."""
    made = recipe.nuggets
    if made is None or made.dim % DIM_A_CODE:
        return
    count = (folder / layout.NUGGETS).stat().st_size // made.dim
    if count < WORTH_INDEX:
        return
    codes = mapped(folder / layout.NUGGETS, np.int8, (count, made.dim))
    scales = mapped(folder / layout.NUGGET_SCALES, "<f4", (count,))
    index = empty_index(made.dim, lists_for(count), PROBES)
    sample = np.random.default_rng(SEED).permutation(count)[: TRAINED_ON * index.nlist]
    index.train(dequantize(codes[sample], scales[sample]))
    for begin in range(0, count, _NUGGETS_AT_ONCE):
        some = slice(begin, begin + _NUGGETS_AT_ONCE)
        index.add(dequantize(codes[some], scales[some]))
    (folder / layout.NUGGET_INDEX).write_bytes(faiss.serialize_index(index).data)
