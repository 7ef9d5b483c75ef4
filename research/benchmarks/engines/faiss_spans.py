"""The paper's literal form: a vector for every span, in FAISS. Flat is exact; IVF and HNSW search a part of it."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import faiss
import numpy as np
from jaxtyping import Float32, Int

from research.benchmarks.case import TOP_K, Case, Queries
from research.benchmarks.engines.base import Answers, Refused, folder_size
from research.benchmarks.spans import best_spans, count_spans, span_vectors

_INDEX, _SPANS = "spans.faiss", "spans.npy"


class _FaissSpans(ABC):
    bytes_per_value: ClassVar[int]
    bytes_per_span: ClassVar[int] = 8  # of the table of spans, and of links between them

    def __init__(self, memory_limit: int) -> None:
        self._memory_limit = memory_limit

    @abstractmethod
    def _empty(self, case: Case, spans: int) -> faiss.Index:
        """The index without a vector, trained if need be."""

    def _tune(self, index: faiss.Index) -> None:
        """Set how thoroughly an opened index searches, if there is a choice."""
        return

    def build(self, case: Case, folder: Path) -> None:
        """Add every span's vector to the index."""
        spans = count_spans(case)
        self._check_memory(case, spans)
        index, table = self._empty(case, spans), []
        for of_chunk, vectors in span_vectors(case):
            index.add(vectors)
            table.append(of_chunk.astype(np.int32))
        faiss.write_index(index, str(folder / _INDEX))
        np.save(folder / _SPANS, np.concatenate(table))

    def open(self, case: Case, folder: Path) -> None:
        """Read the index into memory."""
        self._index = faiss.read_index(str(folder / _INDEX))
        self._spans: Int[np.ndarray, "spans 2"] = np.load(folder / _SPANS)
        self._tune(self._index)

    def search(self, queries: Queries) -> list[Answers]:
        """The best spans that do not overlap."""
        return best_spans(self._nearest, self._spans, queries.vectors, TOP_K)

    def size(self, folder: Path) -> int:
        """The index and the table of spans."""
        return folder_size(folder)

    def _nearest(self, queries: Float32[np.ndarray, "queries dim"], count: int) -> Int[np.ndarray, "queries count"]:
        return self._index.search(queries, count)[1]

    def _check_memory(self, case: Case, spans: int) -> None:
        needed = spans * (case.info.dim * self.bytes_per_value + self.bytes_per_span)
        if needed > self._memory_limit:
            raise Refused(
                f"{spans:,} span vectors need {needed / 2**30:.1f} GiB; "
                f"the limit is {self._memory_limit / 2**30:.1f} GiB"
            )


class Flat(_FaissSpans):
    """All spans, all compared: IndexFlatIP."""

    bytes_per_value = 4

    def _empty(self, case: Case, spans: int) -> faiss.Index:
        index = faiss.IndexFlatIP(case.info.dim)
        # Room for all at once: while it grows, FAISS holds everything twice.
        index.codes.resize(spans * case.info.dim * self.bytes_per_value)
        index.codes.resize(0)
        return index


class Ivf(_FaissSpans):
    """An inverted file of 8-bit vectors: 2 sqrt(spans) lists, of which 32 are read."""

    bytes_per_value = 1

    def _empty(self, case: Case, spans: int) -> faiss.Index:
        lists = max(1, min(int(2 * spans**0.5), spans // 39))
        index = faiss.index_factory(case.info.dim, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
        index.train(_sample(case, spans, 39 * lists))
        return index

    def _tune(self, index: faiss.Index) -> None:
        faiss.ParameterSpace().set_index_parameter(index, "nprobe", 32)


class Hnsw(_FaissSpans):
    """A graph over 8-bit vectors: 32 links, 100 candidates while building, 256 while searching."""

    bytes_per_value = 1
    bytes_per_span = 8 + 2 * 32 * 4

    def _empty(self, case: Case, spans: int) -> faiss.Index:
        index = faiss.index_factory(case.info.dim, "HNSW32,SQ8", faiss.METRIC_INNER_PRODUCT)
        faiss.ParameterSpace().set_index_parameter(index, "efConstruction", 100)
        index.train(_sample(case, spans, 50_000))
        return index

    def _tune(self, index: faiss.Index) -> None:
        faiss.ParameterSpace().set_index_parameter(index, "efSearch", 256)


def _sample(case: Case, spans: int, count: int) -> Float32[np.ndarray, "some dim"]:
    """About so many span vectors, evenly from all of them."""
    step = max(1, spans // count)
    pieces, left = [], 0
    for _, vectors in span_vectors(case):
        pieces.append(vectors[left::step])
        left = (left - len(vectors)) % step
    return np.concatenate(pieces)
