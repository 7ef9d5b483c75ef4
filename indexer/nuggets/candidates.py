"""Documents by MaxSim, approximate: exact rescoring of those that hold the nuggets nearest to the query's vectors."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from indexer.ann.candidates import OpenRows
from indexer.engine.executor import Memo
from indexer.engine.query import Selection
from indexer.nuggets.files import INDEX
from indexer.nuggets.representation import stored_nuggets
from indexer.nuggets.scan import AllowedNuggets, NuggetScan, scan_nuggets
from models.ops.maxsim import group_maxima
from models.ops.quantization import dequantize
from models.types import QueryVectors

# Least number of nuggets looked up for every query vector, and for every document of ``top_k``.
_NUGGETS, _NUGGETS_A_DOCUMENT = 1_000, 50
# Least number of documents that are scored exactly, and for every one of ``top_k``.
_DOCUMENTS, _DOCUMENTS_A_HIT = 500, 20
# The number of allowed nuggets up to which a scan is as fast.
_FEW_NUGGETS = 50_000


@dataclass(frozen=True, slots=True)
class NuggetCandidates(NuggetScan):
    """The best documents among those that hold the nearest nuggets, with exact scores.

    Segments without an index, and those with few nuggets after filtering, are scanned: there the search is exact.
    """

    nuggets: int = _NUGGETS
    documents: int = _DOCUMENTS
    few: int = _FEW_NUGGETS
    open_rows: OpenRows | None = None

    def looked_up_by(self, open_rows: OpenRows) -> "NuggetCandidates":
        """The same, with nuggets that another function opens."""
        return replace(self, open_rows=open_rows, memo=Memo())

    def scores(self, nuggets: AllowedNuggets, selection: Selection) -> Float[np.ndarray, "queries documents"]:
        """Lower bounds on the scores of documents; -inf for those that are not scored."""
        segment = nuggets.view.segment
        stored = stored_nuggets(segment)
        if not len(stored.index) or len(nuggets.rows) <= self.few:
            return scan_nuggets(nuggets, self.queries)
        from indexer.ann.row_index import open_row_index  # scanning needs no FAISS

        open_rows, share = self.open_rows or open_row_index, len(nuggets.rows) / len(stored)
        count = int(max(self.nuggets, _NUGGETS_A_DOCUMENT * selection.top_k) / share)
        if count >= len(nuggets.rows):
            return scan_nuggets(nuggets, self.queries)
        index = open_rows(segment, INDEX, stored.index, stored.codes, stored.scales)
        return np.stack(
            [self._near(nuggets, query, index.nearest(query, count), selection.top_k) for query in self.queries]
        )

    def _near(
        self, allowed: AllowedNuggets, query: QueryVectors, nearest: Int[np.ndarray, "vectors count"], top_k: int
    ) -> Float[np.ndarray, " documents"]:
        """The scores of the documents that hold the nearest nuggets, the most promising of them."""
        rows = np.intersect1d(nearest, allowed.rows)
        at = np.searchsorted(allowed.rows, rows)
        promise = _promise(AllowedNuggets(allowed.view, rows, allowed.documents[at]), query, nearest.shape[1])
        most = max(self.documents, _DOCUMENTS_A_HIT * top_k)
        chosen = np.sort(np.argsort(-promise, kind="stable")[:most])
        near = np.flatnonzero(np.isin(allowed.documents, chosen[promise[chosen] > -np.inf]))
        candidates = AllowedNuggets(allowed.view, allowed.rows[near], allowed.documents[near])
        return scan_nuggets(candidates, [query])[0]


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
