"""A FAISS index of stored rows of unit length, by direction."""

from pathlib import Path

import faiss
import numpy as np
from jaxtyping import Float32, Int, Int8, UInt8

from indexer.ann.inverted_lists import DIM_A_CODE, SEED, TRAINED_ON, empty_index, lists_for, open_index
from indexer.segments.reader import Segment
from models.ops.quantization import dequantize
from models.types import QueryVectors

PROBES = 32
_ROWS_AT_ONCE = 65_536


class RowIndex:
    """The rows of one segment, by direction."""

    def __init__(self, index: faiss.Index) -> None:
        self._index = index

    def nearest(self, vectors: QueryVectors, count: int) -> Int[np.ndarray, "queries count"]:
        """Return the numbers of the rows nearest to every vector; -1 if there are fewer."""
        return self._index.search(np.ascontiguousarray(vectors, np.float32), count)[1]


def open_row_index(segment: Segment, name: str, content: UInt8[np.ndarray, " bytes"]) -> RowIndex:
    """Read an index from the bytes of a segment's file; raises ``SegmentCorrupt`` for a wrong checksum."""
    return RowIndex(open_index(segment, name, content))


def write_row_index(path: Path, codes: Int8[np.ndarray, "rows dim"], scales: Float32[np.ndarray, " rows"]) -> None:
    """Write an index of quantised rows; nothing where their dimension has no codes of four bits."""
    count, dim = codes.shape
    if dim % DIM_A_CODE:
        return
    index = empty_index(dim, lists_for(count), PROBES)
    sample = np.random.default_rng(SEED).permutation(count)[: TRAINED_ON * index.nlist]
    index.train(dequantize(codes[sample], scales[sample]))
    for begin in range(0, count, _ROWS_AT_ONCE):
        rows = slice(begin, begin + _ROWS_AT_ONCE)
        index.add(dequantize(codes[rows], scales[rows]))
    path.write_bytes(faiss.serialize_index(index).data)
