"""A FAISS index of stored rows of unit length, by direction."""

from collections.abc import Iterator
from pathlib import Path

import faiss
import numpy as np
from jaxtyping import Float32, Int, Int8, UInt8

from indexer.ann.inverted_lists import DIM_A_CODE, SEED, TRAINED_ON, empty_index, lists_for, open_index, train
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


def open_row_index(
    segment: Segment,
    name: str,
    content: UInt8[np.ndarray, " bytes"],
    codes: Int8[np.ndarray, "rows dim"],
    scales: Float32[np.ndarray, " rows"],
) -> RowIndex:
    """Read an index of quantised rows from the bytes of a segment's file.

    Raises ``SegmentCorrupt`` for a wrong checksum.
    """
    return RowIndex(open_index(segment, name, content))


def directions_of(
    codes: Int8[np.ndarray, "rows dim"], scales: Float32[np.ndarray, " rows"]
) -> Iterator[tuple[Int[np.ndarray, " some"], Float32[np.ndarray, "some dim"]]]:
    """The numbers and the vectors of quantised rows, some at a time."""
    for begin in range(0, len(codes), _ROWS_AT_ONCE):
        rows = slice(begin, min(begin + _ROWS_AT_ONCE, len(codes)))
        yield np.arange(rows.start, rows.stop), dequantize(codes[rows], scales[rows])


def write_row_index(path: Path, codes: Int8[np.ndarray, "rows dim"], scales: Float32[np.ndarray, " rows"]) -> None:
    """Write an index of quantised rows; nothing where their dimension has no codes of four bits."""
    count, dim = codes.shape
    if dim % DIM_A_CODE:
        return
    index = empty_index(dim, lists_for(count), PROBES)
    sample = np.random.default_rng(SEED).permutation(count)[: TRAINED_ON * index.nlist]
    train(index, dequantize(codes[sample], scales[sample]))
    for _, vectors in directions_of(codes, scales):
        index.add(vectors)
    path.write_bytes(faiss.serialize_index(index).data)
