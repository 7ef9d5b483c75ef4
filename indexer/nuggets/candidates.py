"""Documents by MaxSim, approximate: exact rescoring of those that hold the nuggets nearest to the query's vectors."""

from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Int

from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.nuggets.files import INDEX
from indexer.nuggets.representation import stored_nuggets
from indexer.nuggets.scan import (
    AllowedNuggets,
    Queries,
    ScoredDocument,
    allowed_nuggets,
    best_documents,
    scan_nuggets,
)
from indexer.segments.reader import Segment
from models.ops.maxsim import group_maxima
from models.ops.quantization import dequantize
from models.types import QueryVectors

if TYPE_CHECKING:
    from indexer.ann.row_index import RowIndex

# Least number of nuggets looked up for every query vector, and for every document of ``top_k``.
_NUGGETS, _NUGGETS_A_DOCUMENT = 1_000, 50
# Least number of documents that are scored exactly, and for every one of ``top_k``.
_DOCUMENTS, _DOCUMENTS_A_HIT = 500, 20
# With at most so many allowed nuggets, a scan is as fast.
_FEW_NUGGETS = 50_000


class DocumentCandidates:
    """Approximate search for documents with exact scores.

    Segments without an index, and those with few nuggets after filtering, are scanned: there the search is exact.
    """

    def __init__(self, *, nuggets: int = _NUGGETS, documents: int = _DOCUMENTS, few: int = _FEW_NUGGETS) -> None:
        self._nuggets = nuggets
        self._documents = documents
        self._few = few
        self._opened: WeakKeyDictionary[Segment, "RowIndex"] = WeakKeyDictionary()
        self._lock = Lock()

    def search(self, snapshot: Snapshot, queries: Queries, selection: Selection) -> list[list[ScoredDocument]]:
        """For every query of one or more unit-length vectors its best documents, best first."""
        allowed = [allowed_nuggets(view, selection.filter) for view in snapshot.views]
        scores = [self._scores(nuggets, queries, selection) for nuggets in allowed]
        return [
            best_documents(
                [(nuggets, of[number]) for nuggets, of in zip(allowed, scores, strict=True)], query, selection
            )
            for number, query in enumerate(queries)
        ]

    def _scores(
        self, allowed: AllowedNuggets, queries: Queries, selection: Selection
    ) -> Float[np.ndarray, "queries documents"]:
        """Lower bounds on the scores of documents; -inf for those that are not scored."""
        stored = stored_nuggets(allowed.view.segment)
        if not len(stored.index) or len(allowed.rows) <= self._few:
            return scan_nuggets(allowed, queries)
        index, share = self._open(allowed.view.segment), len(allowed.rows) / len(stored)
        count = int(max(self._nuggets, _NUGGETS_A_DOCUMENT * selection.top_k) / share)
        if count >= len(allowed.rows):
            return scan_nuggets(allowed, queries)
        return np.stack([self._near(allowed, query, index.nearest(query, count), selection.top_k) for query in queries])

    def _near(
        self, allowed: AllowedNuggets, query: QueryVectors, nearest: Int[np.ndarray, "vectors count"], top_k: int
    ) -> Float[np.ndarray, " documents"]:
        """The scores of the documents that hold the nearest nuggets, the most promising of them."""
        rows = np.intersect1d(nearest, allowed.rows)
        at = np.searchsorted(allowed.rows, rows)
        promise = _promise(AllowedNuggets(allowed.view, rows, allowed.documents[at]), query, nearest.shape[1])
        most = max(self._documents, _DOCUMENTS_A_HIT * top_k)
        chosen = np.sort(np.argsort(-promise, kind="stable")[:most])
        near = np.flatnonzero(np.isin(allowed.documents, chosen[promise[chosen] > -np.inf]))
        candidates = AllowedNuggets(allowed.view, allowed.rows[near], allowed.documents[near])
        return scan_nuggets(candidates, [query])[0]

    def _open(self, segment: Segment) -> "RowIndex":
        # Imported here because scanning needs no FAISS.
        from indexer.ann.row_index import open_row_index

        with self._lock:
            if segment not in self._opened:
                self._opened[segment] = open_row_index(segment, INDEX, stored_nuggets(segment).index)
            return self._opened[segment]


def _promise(nearest: AllowedNuggets, query: QueryVectors, count: int) -> Float[np.ndarray, " documents"]:
    """Upper bounds on the scores of documents, from the nearest nuggets; -inf for documents without one of these.

    All other nuggets of a document are farther from every vector of the query than the nearest ones.
    """
    documents = nearest.view.segment.manifest.documents
    if not len(nearest.rows):
        return np.full(documents, -np.inf)
    stored = stored_nuggets(nearest.view.segment)
    cosines = dequantize(stored.codes[nearest.rows], stored.scales[nearest.rows]) @ query.T
    best = group_maxima(cosines, nearest.documents, documents)
    last = -np.partition(-cosines, min(count, len(cosines)) - 1, axis=0)[min(count, len(cosines)) - 1]
    there = best.max(axis=1) > -np.inf
    return np.where(there, np.maximum(best, last).mean(axis=1), -np.inf)
