"""FAISS with GPUs that compute on the processor: what is asked of them goes to indexes of the processor.

As on a GPU, an index finds 2,048 rows at most, temporary memory belongs to resources, and a search can fail with a
``RuntimeError``. ``made`` has every index on a GPU with its number.
"""

from typing import Any

import faiss
import numpy as np
import pytest

MOST = 2_048


class Resources:
    """The resources of a GPU; FAISS takes 1.5 GiB unless told otherwise."""

    def __init__(self) -> None:
        self.temporary = 3 * 2**29

    def setTempMemory(self, size: int) -> None:  # noqa: N802  FAISS's name
        self.temporary = size


class Config:
    device = 0
    useFloat16 = False  # noqa: N815  FAISS's name


class Lists:
    """An index of the processor, as a GPU shows it."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self.nprobe = 1

    @property
    def ntotal(self) -> int:
        return int(self._index.ntotal)

    def add(self, vectors: np.ndarray) -> None:
        self._index.add(vectors)

    def search(self, queries: np.ndarray, count: int) -> Any:
        assert count <= MOST
        if hasattr(self._index, "nprobe"):
            self._index.nprobe = min(self.nprobe, self._index.nlist)
        return self._index.search(queries, count)


class FakeFaiss:
    """What it was asked for, and whether it fails."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made: list[tuple[int, Any]] = []
        self.resources: list[Resources] = []
        self.fails = False

    def install(self, patch: pytest.MonkeyPatch) -> "FakeFaiss":
        patch.setattr(faiss, "get_num_gpus", lambda: self.count)
        patch.setattr(faiss, "StandardGpuResources", self._resources, raising=False)
        patch.setattr(faiss, "GpuIndexFlatConfig", Config, raising=False)
        patch.setattr(faiss, "GpuIndexFlatIP", self._flat, raising=False)
        patch.setattr(faiss, "index_cpu_to_gpu", self._to_gpu, raising=False)
        patch.setattr(faiss, "index_cpu_to_all_gpus", self._to_all, raising=False)
        return self

    def _resources(self) -> Resources:
        self.resources.append(Resources())
        return self.resources[-1]

    def _flat(self, resources: Resources, dim: int, config: Config) -> Lists:
        assert config.useFloat16
        index = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        index.train(np.zeros((1, dim), np.float32))
        return self._noted(config.device, Lists(index))

    def _to_gpu(self, resources: Resources, number: int, index: Any) -> Any:
        assert number < self.count
        if isinstance(index, faiss.IndexIVFPQFastScan):
            raise RuntimeError("This index type is not implemented on the GPU.")
        if isinstance(index, faiss.IndexIVF):
            return self._noted(number, Lists(index))
        return self._noted(number, faiss.IndexFlatIP(index.d))

    def _to_all(self, index: Any) -> Any:
        first, *_ = [self._to_gpu(self._resources(), number, index) for number in range(self.count)]
        return first

    def _noted(self, number: int, index: Any) -> Any:
        if self.fails:
            raise RuntimeError("Error in GpuMemoryReservation: cudaMalloc error out of memory [2]")
        self.made.append((number, index))
        return index
