"""xtr-warp-rs: multi-vector search over passages that never decompresses its 4-bit residuals."""

import os
from pathlib import Path

import numpy as np
import torch
from xtr_warp import XTRWarp

from research.benchmarks.case import TOP_K, Case, Queries
from research.benchmarks.engines.base import Answers, folder_size


class Warp:
    """Its own defaults, with as many threads as the process may use."""

    def __init__(self, memory_limit: int) -> None:
        self._threads = len(os.sched_getaffinity(0))

    def build(self, case: Case, folder: Path) -> None:
        """Cluster the unit vectors and code them."""
        passages = [torch.from_numpy(case.passage_vectors(number)) for number in range(len(case.passage_units) - 1)]
        XTRWarp(index=str(folder / "index")).create(embeddings_source=passages, device="cpu")

    def open(self, case: Case, folder: Path) -> None:
        """Read the index."""
        self._index = XTRWarp(index=str(folder / "index"))
        self._index.load(device="cpu", dtype=torch.float32)

    def search(self, queries: Queries) -> list[Answers]:
        """The best passages."""
        tokens = [torch.from_numpy(np.ascontiguousarray(each)) for each in queries.tokens]
        results = self._index.search(queries_embeddings=tokens, top_k=TOP_K, num_threads=self._threads)
        return [np.array([number for number, _ in best], np.int64) for best in results]

    def size(self, folder: Path) -> int:
        """The index's files."""
        return folder_size(folder)
