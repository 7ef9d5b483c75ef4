"""Windows: runs of units of a few lengths, in a FAISS index that selects the blocks of a large segment to scan.

A span that means what a query means covers, or is covered by, windows that come near it: so the neighbourhoods of the
windows nearest to a query hold its best spans, nearly always. What is found there is scored exactly like everything
else. ADR 8 has what was tried instead, and the figures.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import faiss
import numpy as np
from jaxtyping import Float32, Int, Int8

from indexer.ann.inverted_lists import (
    DIM_A_CODE,
    FEWEST_LISTS,
    SEED,
    TRAINED_ON,
    empty_index,
    lists_for,
    open_index,
    train,
)
from indexer.segments import layout
from indexer.segments.mapping import mapped
from indexer.segments.reader import Segment
from indexer.types import Recipe
from models.ops.quantization import dequantize
from models.ops.similarity import normalize
from models.types import QueryVectors, SpanBounds

_WINDOWS_AT_ONCE = 65_536


class WindowIndex:
    """The windows of one segment, by direction."""

    def __init__(self, index: faiss.IndexIVF) -> None:
        self._index = index

    @property
    def windows(self) -> int:
        """The number of windows."""
        return int(self._index.ntotal)

    def nearest(
        self, queries: QueryVectors, count: int, visited: float
    ) -> tuple[Int[np.ndarray, "queries count"], Float32[np.ndarray, "queries count"]]:
        """The first units of the windows nearest to every query, -1 if there are fewer, and their approximate cosines.

        The search visits a share ``visited`` of the lists, those with the nearest centres.
        """
        probes = faiss.SearchParametersIVF()
        probes.nprobe = max(1, round(visited * self._index.nlist))
        cosines, starts = self._index.search(np.ascontiguousarray(queries, np.float32), count, params=probes)
        return starts, cosines


def open_windows(segment: Segment) -> WindowIndex:
    """Read a segment's windows; raises ``SegmentCorrupt`` for a wrong checksum."""
    return WindowIndex(cast("faiss.IndexIVF", open_index(segment, layout.WINDOWS, segment.windows)))


def write_windows(folder: Path, recipe: Recipe, part_units: Int[np.ndarray, " parts_and_one"]) -> None:
    """Write the windows of a segment whose vectors are complete; an empty file if there are too few."""
    units = int(part_units[-1])
    vectors = mapped(folder / layout.VECTORS, np.int8, (units, recipe.dim))
    scales = mapped(folder / layout.SCALES, "<f4", (units,))
    spans = window_spans(part_units, recipe.bounds)
    if recipe.dim % DIM_A_CODE:
        spans = spans[:0]
    index = empty_index(recipe.dim - recipe.dim % DIM_A_CODE, lists_for(len(spans)))
    sample = np.random.default_rng(SEED).permutation(len(spans))[: TRAINED_ON * index.nlist]
    training = np.concatenate([of_some for _, of_some in directions(vectors, scales, spans[sample])])
    if len(training) < TRAINED_ON * FEWEST_LISTS:
        (folder / layout.WINDOWS).touch()
        return
    train(index, training)
    for starts, of_some in directions(vectors, scales, spans):
        index.add_with_ids(of_some, starts)
    (folder / layout.WINDOWS).write_bytes(faiss.serialize_index(index).data)


def window_spans(part_units: Int[np.ndarray, " parts_and_one"], bounds: SpanBounds) -> Int[np.ndarray, "windows 2"]:
    """The windows of all parts, in the order of their starts: every length's stride is a third of it.

    No window leaves its part. A part shorter than a window is one window; the last window ends with its part.

    >>> window_spans(np.array([0, 2, 9]), SpanBounds(1, 20)).tolist()
    [[0, 2], [2, 5], [2, 9], [3, 6], [4, 7], [5, 8], [6, 9]]
    """
    return windows_of(part_units, {length: max(1, length // 3) for length in window_lengths(bounds)})


def windows_of(
    part_units: Int[np.ndarray, " parts_and_one"], strides: Mapping[int, int]
) -> Int[np.ndarray, "windows 2"]:
    """The windows of any lengths, each with its stride, in the same way.

    >>> windows_of(np.array([0, 3, 4]), {1: 1, 2: 2}).tolist()
    [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [3, 4]]
    """
    firsts, sizes = part_units[:-1], np.diff(part_units)
    windows = [_windows_of(firsts, sizes, length, stride) for length, stride in strides.items()]
    return np.unique(np.concatenate(windows), axis=0)


def window_lengths(bounds: SpanBounds) -> list[int]:
    """Lengths a third and two thirds of the way, by ratio, from the shortest span to the longest.

    >>> window_lengths(SpanBounds(1, 20)), window_lengths(SpanBounds(5, 40)), window_lengths(SpanBounds(4, 4))
    ([3, 7], [10, 20], [4])
    """
    ratio = bounds.longest / bounds.shortest
    return sorted({round(bounds.shortest * ratio**share) for share in (1 / 3, 2 / 3)})


def _windows_of(
    firsts: Int[np.ndarray, " parts"], sizes: Int[np.ndarray, " parts"], length: int, stride: int
) -> Int[np.ndarray, "windows 2"]:
    counts = np.where(sizes > 0, 1 + np.maximum(-(-(sizes - length) // stride), 0), 0)
    owners = np.repeat(np.arange(len(sizes)), counts)
    numbers = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = firsts[owners] + np.minimum(numbers * stride, np.maximum(sizes[owners] - length, 0))
    return np.stack([starts, np.minimum(starts + length, firsts[owners] + sizes[owners])], axis=1)


def directions(
    vectors: Int8[np.ndarray, "units dim"],
    scales: Float32[np.ndarray, " units"],
    spans: Int[np.ndarray, "windows 2"],
) -> Iterator[tuple[Int[np.ndarray, " some"], Float32[np.ndarray, "some dim"]]]:
    """Batches of window starts and unit-length vectors, without windows whose vectors cancel out."""
    yield np.zeros(0, np.int64), np.zeros((0, vectors.shape[1]), np.float32)
    for begin in range(0, len(spans), _WINDOWS_AT_ONCE):
        starts, ends = spans[begin : begin + _WINDOWS_AT_ONCE].T
        sums = np.zeros((len(starts), vectors.shape[1]), np.float32)
        for offset in range(int((ends - starts).max())):
            inside = np.flatnonzero(starts + offset < ends)
            rows = starts[inside] + offset
            sums[inside] += dequantize(vectors[rows], scales[rows])
        real = np.linalg.norm(sums, axis=1) > 0
        yield starts[real], normalize(sums[real]).astype(np.float32)
