"""bm25s: passages by their words. It reads no vectors; it is here for scale."""

from pathlib import Path

import bm25s
import numpy as np

from research.benchmarks.case import TOP_K, Case, Queries
from research.benchmarks.engines.base import Answers, folder_size
from research.benchmarks.engines.scan import open_segments
from research.benchmarks.passages import passage_texts


class Words:
    """Its own defaults, English stop words left out."""

    def __init__(self, memory_limit: int) -> None:
        pass

    def build(self, case: Case, folder: Path) -> None:
        """Count the words of the passages."""
        texts = passage_texts(open_segments(case.folder), case.passage_units)
        index = bm25s.BM25()
        index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
        index.save(folder)

    def open(self, case: Case, folder: Path) -> None:
        """Read the index."""
        self._index = bm25s.BM25.load(folder)
        self._count = min(TOP_K, len(case.passage_units) - 1)

    def search(self, queries: Queries) -> list[Answers]:
        """The best passages that have a word of the query."""
        words = bm25s.tokenize(list(queries.texts), stopwords="en", return_ids=False, show_progress=False)
        passages, scores = self._index.retrieve(words, k=self._count, show_progress=False)
        return [numbers[of_query > 0].astype(np.int64) for numbers, of_query in zip(passages, scores, strict=True)]

    def size(self, folder: Path) -> int:
        """The index's files."""
        return folder_size(folder)
