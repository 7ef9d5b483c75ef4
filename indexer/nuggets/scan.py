"""Documents by MaxSim: the nuggets of a segment, or of some of its documents, scored exactly.

A pass over all nuggets gives every document's score in float32. Documents that may be among the best are rescored in
float64, one by one, so that a score depends on the vectors of the query and of the document alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from indexer.engine.executor import Memo, SegmentQuery
from indexer.engine.query import Filter, Selection
from indexer.engine.rows import SpanRows
from indexer.engine.snapshot import SegmentView
from indexer.nuggets.places import DocumentPlace
from indexer.nuggets.representation import stored_nuggets
from models.ops.maxsim import MaxSim, group_maxima, maxsim
from models.types import QueryVectors

# More than rounding in float32 can move a score by.
_ROUNDING = 1e-5
# Nuggets that are dequantised at once, and query vectors that share a pass: both bound memory.
_NUGGETS_AT_ONCE = 1_024
_VECTORS_AT_ONCE = 64

# The vectors of several queries, each of one or more.
Queries: TypeAlias = Sequence[Float32[np.ndarray, "_vectors dim"]]
Scores: TypeAlias = Float[np.ndarray, " _documents"]


@dataclass(frozen=True, slots=True)
class AllowedNuggets:
    """The nuggets of a segment that a search may use, and the document of each; both ascending."""

    view: SegmentView
    rows: Int[np.ndarray, " allowed"]
    documents: Int[np.ndarray, " allowed"]

    def of_document(self, document: int) -> Int[np.ndarray, " rows"]:
        """The allowed nuggets of one document."""
        begin, end = np.searchsorted(self.documents, [document, document + 1])
        return self.rows[begin:end]

    def place(self, document: int) -> DocumentPlace:
        """The place of a document, with its allowed nuggets."""
        return DocumentPlace(self.view.segment, document, self.of_document(document))


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
        from indexer.nuggets.candidates import NuggetCandidates  # a subclass

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
class NuggetCounts(SegmentQuery[None, list[SpanRows]]):
    """All documents that have a nugget, for one query, with exact scores."""

    query: QueryVectors

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """The documents of a segment."""
        nuggets = allowed_nuggets(view, selection.filter)
        return [exact_scores(nuggets, np.unique(nuggets.documents), self.query)]


def allowed_nuggets(view: SegmentView, filter: Filter) -> AllowedNuggets:
    """The nuggets of live documents, and parts, that pass a filter."""
    mask = view.allowed(filter).mask
    stored = stored_nuggets(view.segment)
    rows = np.arange(len(stored)) if mask is None else np.flatnonzero(mask[stored.units])
    bounds = stored.document_bounds(view.segment.document_units)
    documents = np.searchsorted(bounds, rows, side="right") - 1
    return AllowedNuggets(view, rows, documents)


def scan_nuggets(allowed: AllowedNuggets, queries: Queries) -> Float[np.ndarray, "queries documents"]:
    """Approximate scores of every document of a segment for every query; -inf where it has no allowed nugget."""
    count = allowed.view.segment.manifest.documents
    sums = np.zeros((len(queries), count), np.float64)
    vectors, owners = np.concatenate(queries), np.repeat(np.arange(len(queries)), [len(query) for query in queries])
    for begin in range(0, len(vectors), _VECTORS_AT_ONCE):
        some = slice(begin, begin + _VECTORS_AT_ONCE)
        maxima = _document_maxima(allowed, vectors[some], count)
        for query in np.unique(owners[some]):
            sums[query] += maxima[:, owners[some] == query].sum(axis=1, dtype=np.float64)
    return sums / np.array([len(query) for query in queries])[:, None]


def _document_maxima(
    allowed: AllowedNuggets, vectors: QueryVectors, count: int
) -> Float32[np.ndarray, "documents queries"]:
    """For every document the largest cosine of each query vector with any of its allowed nuggets."""
    stored = stored_nuggets(allowed.view.segment)
    maxima = np.full((count, len(vectors)), -np.inf, np.float32)
    dequantised = np.empty((_NUGGETS_AT_ONCE, stored.codes.shape[1]), np.float32)
    for begin in range(0, len(allowed.rows), _NUGGETS_AT_ONCE):
        rows, documents = (column[begin : begin + _NUGGETS_AT_ONCE] for column in (allowed.rows, allowed.documents))
        # A slice is faster than an index array; without tombstones and filters, rows are consecutive.
        chosen = slice(rows[0], rows[-1] + 1) if rows[-1] - rows[0] == len(rows) - 1 else rows
        codes = dequantised[: len(rows)]
        codes[:] = stored.codes[chosen]
        cosines = codes @ vectors.T * stored.scales[chosen, None]
        first, last = int(documents[0]), int(documents[-1]) + 1
        inside = group_maxima(cosines, documents - first, last - first)
        # A document may go on in the next block.
        np.maximum(maxima[first:last], inside, out=maxima[first:last])
    return maxima


def exact_scores(nuggets: AllowedNuggets, documents: Int[np.ndarray, " rows"], query: QueryVectors) -> SpanRows:
    """Documents that have an allowed nugget, as rows of all of their units, with exact scores."""
    units = nuggets.view.segment.document_units
    places = (nuggets.place(document) for document in documents.tolist())
    scores = np.array([match(place, query).score for place in places], np.float64)
    return SpanRows(nuggets.view.name, units[documents], units[documents + 1], scores)


def match(place: DocumentPlace, query: QueryVectors) -> MaxSim:
    """The best of a document's allowed nuggets, numbered from 0, for every query vector, and its cosine."""
    return maxsim(query, place.nugget_vectors())


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
