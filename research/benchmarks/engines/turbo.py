"""turbovec: 4-bit TurboQuant codes of every span's vector."""

from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int
from turbovec import TurboQuantIndex

from research.benchmarks.case import TOP_K, Case, Queries
from research.benchmarks.engines.base import Answers, Refused, folder_size
from research.benchmarks.spans import best_spans, count_spans, span_vectors

_INDEX, _SPANS = "spans.tv", "spans.npy"
_BITS = 4


class Turbo:
    """Spans as found by their codes; nothing is rescored."""

    def __init__(self, memory_limit: int) -> None:
        self._memory_limit = memory_limit

    def build(self, case: Case, folder: Path) -> None:
        """Add every span's vector."""
        needed = count_spans(case) * (case.info.dim * _BITS // 8 + 8)
        if 2 * needed > self._memory_limit:  # codes are held twice, as they came and as they are searched
            raise Refused(f"the codes of all spans need {2 * needed / 2**30:.1f} GiB")
        index, table = TurboQuantIndex(dim=case.info.dim, bit_width=_BITS), []
        for spans, vectors in span_vectors(case):
            index.add(vectors)
            table.append(spans.astype(np.int32))
        index.write(str(folder / _INDEX))
        np.save(folder / _SPANS, np.concatenate(table))

    def open(self, case: Case, folder: Path) -> None:
        """Read the index into memory."""
        self._index = TurboQuantIndex.load(str(folder / _INDEX))
        self._spans: Int[np.ndarray, "spans 2"] = np.load(folder / _SPANS)
        self._index.prepare()

    def search(self, queries: Queries) -> list[Answers]:
        """The best spans that do not overlap."""
        return best_spans(self._nearest, self._spans, queries.vectors, TOP_K)

    def size(self, folder: Path) -> int:
        """The index and the table of spans."""
        return folder_size(folder)

    def _nearest(self, queries: Float32[np.ndarray, "queries dim"], count: int) -> Int[np.ndarray, "queries count"]:
        return self._index.search(np.ascontiguousarray(queries), k=count)[1].astype(np.int64)
