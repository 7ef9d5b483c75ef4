"""fast-plaid: multi-vector search over passages by centroids and 4-bit residuals."""

from pathlib import Path

import numpy as np
import torch
from fast_plaid.search import FastPlaid

from research.benchmarks.case import TOP_K, Case, Queries
from research.benchmarks.engines.base import Answers, folder_size


class Plaid:
    """Its own defaults, but that it prints no progress."""

    def __init__(self, memory_limit: int) -> None:
        pass

    def build(self, case: Case, folder: Path) -> None:
        """Cluster the unit vectors and code them."""
        passages = [torch.from_numpy(case.passage_vectors(number)) for number in range(len(case.passage_units) - 1)]
        FastPlaid(index=str(folder / "index"), device="cpu").create(documents_embeddings=passages)

    def open(self, case: Case, folder: Path) -> None:
        """Read the index."""
        self._index = FastPlaid(index=str(folder / "index"), device="cpu")

    def search(self, queries: Queries) -> list[Answers]:
        """The best passages."""
        tokens = [torch.from_numpy(np.ascontiguousarray(each)) for each in queries.tokens]
        results = self._index.search(tokens, top_k=TOP_K, show_progress=False)
        return [np.array([number for number, _ in best], np.int64) for best in results]

    def size(self, folder: Path) -> int:
        """The index's files."""
        return folder_size(folder)
