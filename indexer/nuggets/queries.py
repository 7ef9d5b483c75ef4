"""Queries for documents by MaxSim: exact ones, and those of the documents that hold the nearest nuggets."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from indexer.ann.candidates import OpenRows
from indexer.engine.executor import Memo, SegmentQuery
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRows
from indexer.engine.views import SegmentView
from indexer.nuggets.files import INDEX
from indexer.nuggets.representation import stored_nuggets
from indexer.nuggets.scan import AllowedNuggets, Queries, Scores, allowed_nuggets, exact_scores, scan_nuggets
from models.ops.maxsim import group_maxima
from models.ops.quantization import dequantize
from models.types import QueryVectors

# More than rounding in float32 can move a score by.
_ROUNDING = 1e-5
# Least number of nuggets looked up for every query vector, and for every document of ``top_k``.
_NUGGETS, _NUGGETS_A_DOCUMENT = 1_000, 50
# Least number of documents that are scored exactly, and for every one of ``top_k``.
_DOCUMENTS, _DOCUMENTS_A_HIT = 500, 20
# The number of allowed nuggets up to which a scan is as fast.
_FEW_NUGGETS = 50_000


@dataclass(frozen=True, slots=True)
class NuggetScan(SegmentQuery[list[Scores], list[SpanRows]]):
    """The best documents for queries of one or more unit-length vectors, which share a pass over memory.

    A row has all units of its document. The round of statistics gives the best approximate scores, of which all
    segments together make a floor.
    """

    queries: Queries
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def rounds(self) -> int:
        """One: documents of several segments compete."""
        return 1

    def statistics(self, view: SegmentView, total: list[Scores] | None, selection: Selection) -> list[Scores]:
        """For every query the best approximate scores of documents, one more than ``top_k``."""
        _, scores = self._scored(view, selection)
        return [_best(of_query[_is_there(of_query)], selection.top_k + 1) for of_query in scores]

    def total(self, parts: Sequence[list[Scores]], selection: Selection) -> list[Scores]:
        """For every query an approximate score below which no document is among the best."""
        together = (
            np.concatenate([np.zeros(0), *(part[number] for part in parts)]) for number in range(len(self.queries))
        )
        return [np.array([_floor(scores, selection)]) for scores in together]

    def rows(self, view: SegmentView, total: list[Scores] | None, selection: Selection) -> list[SpanRows]:
        """For every query the documents of a segment that may be selected, with exact scores."""
        nuggets, scores = self._scored(view, selection)
        self.memo.pop(view.name, None)
        return [
            exact_scores(nuggets, np.flatnonzero(of_query >= floor), query)
            for query, of_query, floor in zip(self.queries, scores, total or self.total([], selection), strict=True)
        ]

    def approximate(self) -> "NuggetScan":
        """The same for the documents that hold the nuggets nearest to the queries' vectors."""
        return NuggetCandidates(self.queries)

    def scores(self, nuggets: AllowedNuggets, selection: Selection) -> Float[np.ndarray, "queries documents"]:
        """Approximate scores of the documents of a segment; -inf for those that cannot be selected."""
        return scan_nuggets(nuggets, self.queries)

    def _scored(
        self, view: SegmentView, selection: Selection
    ) -> tuple[AllowedNuggets, Float[np.ndarray, "queries documents"]]:
        nuggets = allowed_nuggets(view, selection.filter)
        return self.memo.once(view.name, lambda: (nuggets, self.scores(nuggets, selection)))


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


@dataclass(frozen=True, slots=True)
class NuggetCounts(SegmentQuery[None, list[SpanRows]]):
    """All documents that have a nugget, for one query, with exact scores."""

    query: QueryVectors

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """The documents of a segment."""
        nuggets = allowed_nuggets(view, selection.filter)
        return [exact_scores(nuggets, np.unique(nuggets.documents), self.query)]


def _floor(scores: Scores, selection: Selection) -> float:
    """An approximate score below which no document is among the best of all segments."""
    least = -np.inf if selection.floor is None else selection.floor - _ROUNDING
    if len(scores) > selection.top_k:
        least = max(least, float(_best(scores, selection.top_k).min()) - 2 * _ROUNDING)
    return max(least, -2.0)  # no score is as low; only documents without a nugget are lower


def _best(scores: Scores, most: int) -> Scores:
    return np.partition(scores, len(scores) - most)[len(scores) - most :] if len(scores) > most else scores


def _is_there(scores: Float[np.ndarray, " documents"]) -> Bool[np.ndarray, " documents"]:
    return scores > -np.inf


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
