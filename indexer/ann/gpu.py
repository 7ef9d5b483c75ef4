"""Rows of unit length in FAISS indexes on one GPU: flat, or in the lists of an index that is stored with a segment.

They are numbers of 16 bits there. FAISS finds at most 2,048 rows in an index on a GPU, and copies a flat index when it
adds to one, so that the rows of a segment are spread over several.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

import faiss
import numpy as np
from jaxtyping import Float32, Int

from indexer.ann.row_index import PROBES, RowIndex
from indexer.ann.windows import WindowIndex
from indexer.errors import ExecutorUnavailable
from models.types import QueryVectors

# The most rows that FAISS finds in one index on a GPU, and the most lists that it visits there.
MOST = 2_048
# Vectors of one flat index; the indexes with lists of a segment, and the most rows that are looked up in all of them:
# each has about as many of these.
FLAT_ROWS, _SHARDS = 2**20, 4
_WANTED = _SHARDS * MOST // 2
# More than 16 bits can move a cosine by: the query and the row are rounded by 2 ** -11 each.
ROUNDING = 2**-10 + 1e-4

# Ids, and the vectors of unit length that they name.
Rows: TypeAlias = tuple[Int[np.ndarray, " some"], Float32[np.ndarray, "some dim"]]


@dataclass(frozen=True, slots=True)
class Found:
    """Ids of rows, and their cosines with queries, in any order; no other row has a higher cosine than ``last``."""

    ids: Int[np.ndarray, "queries some"]
    cosines: Float32[np.ndarray, "queries some"]
    last: Float32[np.ndarray, " queries"]

    def best(self, count: int) -> tuple[Int[np.ndarray, "queries best"], Float32[np.ndarray, "queries best"]]:
        """The ids and the cosines of the nearest rows."""
        order = np.argsort(-self.cosines, axis=1)[:, :count]
        return np.take_along_axis(self.ids, order, axis=1), np.take_along_axis(self.cosines, order, axis=1)


class Shards:
    """The rows of a segment, in several indexes. One search at a time may use the resources of a GPU."""

    def __init__(self, resources: Any, number: int, lock: Lock) -> None:  # noqa: ANN401  FAISS has no types
        self._resources, self._number, self._lock = resources, number, lock
        self._indexes: list[Any] = []
        self._ids: list[Int[np.ndarray, " rows"]] = []

    def add_flat(self, dim: int, rows: Iterable[Rows]) -> "Shards":
        """Add rows, which a search compares one by one."""
        config = faiss.GpuIndexFlatConfig()
        config.device, config.useFloat16 = self._number, True
        for ids, vectors in rows:
            if not self._indexes or self._indexes[-1].ntotal >= FLAT_ROWS:
                self._append(faiss.GpuIndexFlatIP(self._resources, dim, config))
            self._add(-1, ids, vectors)
        return self

    def add_lists(self, stored: Any, rows: Iterable[Rows]) -> "Shards":  # noqa: ANN401
        """Add rows, in the lists of an index."""
        centres = stored.quantizer.reconstruct_n(0, stored.nlist)
        for _ in range(_SHARDS):
            quantizer = faiss.IndexFlatIP(stored.d)
            quantizer.add(centres)
            kind, metric = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
            index = faiss.IndexIVFScalarQuantizer(quantizer, stored.d, stored.nlist, kind, metric, False)
            index.train(centres)
            self._append(faiss.index_cpu_to_gpu(self._resources, self._number, index))
        for (ids, vectors), shard in ((each, shard) for each in rows for shard in range(_SHARDS)):
            self._add(shard, ids[shard::_SHARDS], np.ascontiguousarray(vectors[shard::_SHARDS]))
        return self

    def search(self, queries: QueryVectors, count: int, probes: int = 1) -> Found:
        """The nearest rows of every index; ids are -1 where an index finds fewer."""
        queries = np.ascontiguousarray(queries, np.float32)
        parts = [(np.zeros((len(queries), 0), np.int64), np.zeros((len(queries), 0), np.float32))]
        last = np.full(len(queries), -np.inf, np.float32)
        for index, ids in zip(self._indexes, self._ids, strict=True):
            most = min(count, MOST, len(ids))
            cosines, rows = self._search(index, queries, most, probes)
            parts.append((np.where(rows >= 0, ids[rows], -1), cosines))
            if 0 < most < len(ids):
                last = np.maximum(last, cosines[:, -1])
        found, cosines = (np.concatenate(column, axis=1) for column in zip(*parts, strict=True))
        return Found(found, cosines, last)

    def _search(self, index: Any, queries: QueryVectors, count: int, probes: int) -> tuple[Any, Any]:  # noqa: ANN401
        try:
            with self._lock:
                index.nprobe = min(probes, MOST)
                return index.search(queries, count)
        except RuntimeError as error:  # FAISS has no other for a GPU that is full or lost
            raise ExecutorUnavailable(
                f"FAISS cannot search on GPU {self._number}: {str(error).splitlines()[-1]}",
                hint="Restart the server, or set SPANSEEK_ENGINE=auto.",
            ) from error

    def _append(self, index: Any) -> None:  # noqa: ANN401
        self._indexes.append(index)
        self._ids.append(np.zeros(0, np.int64))

    def _add(self, shard: int, ids: Int[np.ndarray, " some"], vectors: Float32[np.ndarray, "some dim"]) -> None:
        self._indexes[shard].add(vectors)
        self._ids[shard] = np.append(self._ids[shard], ids)


class GpuWindows(WindowIndex):
    """The windows of a segment; the processor looks up more of them than a GPU finds."""

    def __init__(self, stored: faiss.IndexIVF, shards: Shards) -> None:
        super().__init__(stored)
        self._lists, self._shards = int(stored.nlist), shards

    def nearest(
        self, queries: QueryVectors, count: int, visited: float
    ) -> tuple[Int[np.ndarray, "queries count"], Float32[np.ndarray, "queries count"]]:
        """The first units of the nearest windows, and their cosines."""
        if count > _WANTED:
            return super().nearest(queries, count, visited)
        return self._shards.search(queries, count, max(1, round(visited * self._lists))).best(count)


class GpuRows(RowIndex):
    """Stored rows of a segment; the processor looks up more of them than a GPU finds."""

    def __init__(self, stored: faiss.Index, shards: Shards) -> None:
        super().__init__(stored)
        self._shards = shards

    def nearest(self, vectors: QueryVectors, count: int) -> Int[np.ndarray, "queries count"]:
        """The numbers of the nearest rows."""
        if count > _WANTED:
            return super().nearest(vectors, count)
        return self._shards.search(vectors, count, PROBES).best(count)[0]
