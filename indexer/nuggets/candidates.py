"""Documents by MaxSim where it pays to look: among those that hold the nuggets nearest to the query's vectors."""

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

# Nuggets looked up for every query vector, at least, and for every document that is wanted.
_NUGGETS, _NUGGETS_A_DOCUMENT = 1_000, 50
# Documents that are scored exactly, at least, and for every one that is wanted.
_DOCUMENTS, _DOCUMENTS_A_HIT = 500, 20
# Where no more nuggets than this may be looked at, reading them all takes no longer than choosing among them.
_FEW_NUGGETS = 50_000


class DocumentCandidates:
    """Exact figures of documents that are, nearly always, the best.

    Segments without an index are scanned whole, and so is any of which a filter leaves little: there it misses nothing.
    """

    def __init__(self, *, nuggets: int = _NUGGETS, documents: int = _DOCUMENTS, few: int = _FEW_NUGGETS) -> None:
        self._nuggets = nuggets
        self._documents = documents
        self._few = few
        self._opened: WeakKeyDictionary[Segment, "RowIndex"] = WeakKeyDictionary()
        self._lock = Lock()

    def search(self, snapshot: Snapshot, queries: Queries, wanted: Selection) -> list[list[ScoredDocument]]:
        """For every query of one or more unit-length vectors its best documents, best first."""
        allowed = [allowed_nuggets(view, wanted.filter) for view in snapshot.views]
        scores = [self._scores(nuggets, queries, wanted) for nuggets in allowed]
        return [
            best_documents([(nuggets, of[number]) for nuggets, of in zip(allowed, scores, strict=True)], query, wanted)
            for number, query in enumerate(queries)
        ]

    def _scores(
        self, allowed: AllowedNuggets, queries: Queries, wanted: Selection
    ) -> Float[np.ndarray, "queries documents"]:
        """About what documents score, at least; -inf for those that are not looked at."""
        stored = stored_nuggets(allowed.view.segment)
        if not len(stored.index) or len(allowed.rows) <= self._few:
            return scan_nuggets(allowed, queries)
        index, share = self._open(allowed.view.segment), len(allowed.rows) / len(stored)
        count = int(max(self._nuggets, _NUGGETS_A_DOCUMENT * wanted.top_k) / share)
        if count >= len(allowed.rows):
            return scan_nuggets(allowed, queries)
        return np.stack([self._near(allowed, query, index.nearest(query, count), wanted.top_k) for query in queries])

    def _near(
        self, allowed: AllowedNuggets, query: QueryVectors, nearest: Int[np.ndarray, "vectors count"], top_k: int
    ) -> Float[np.ndarray, " documents"]:
        """The scores of the documents that hold the nearest nuggets, the most promising of them."""
        found = np.intersect1d(nearest, allowed.rows)
        at = np.searchsorted(allowed.rows, found)
        promise = _promise(AllowedNuggets(allowed.view, found, allowed.documents[at]), query, nearest.shape[1])
        most = max(self._documents, _DOCUMENTS_A_HIT * top_k)
        chosen = np.sort(np.argsort(-promise, kind="stable")[:most])
        kept = np.flatnonzero(np.isin(allowed.documents, chosen[promise[chosen] > -np.inf]))
        near = AllowedNuggets(allowed.view, allowed.rows[kept], allowed.documents[kept])
        return scan_nuggets(near, [query])[0]

    def _open(self, segment: Segment) -> "RowIndex":
        # Imported here because scanning needs no FAISS.
        from indexer.ann.row_index import open_row_index

        with self._lock:
            if segment not in self._opened:
                self._opened[segment] = open_row_index(segment, INDEX, stored_nuggets(segment).index)
            return self._opened[segment]


def _promise(found: AllowedNuggets, query: QueryVectors, count: int) -> Float[np.ndarray, " documents"]:
    """What documents may score at most, as far as is known from some of their nuggets; -inf for those without any.

    What a document has beside the nuggets that were found is farther from every vector of the query than these are.
    """
    documents = found.view.segment.manifest.documents
    if not len(found.rows):
        return np.full(documents, -np.inf)
    stored = stored_nuggets(found.view.segment)
    cosines = dequantize(stored.codes[found.rows], stored.scales[found.rows]) @ query.T
    best = group_maxima(cosines, found.documents, documents)
    last = -np.partition(-cosines, min(count, len(cosines)) - 1, axis=0)[min(count, len(cosines)) - 1]
    there = best.max(axis=1) > -np.inf
    return np.where(there, np.maximum(best, last).mean(axis=1), -np.inf)
