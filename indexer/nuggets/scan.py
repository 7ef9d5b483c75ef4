"""Documents by MaxSim: the nuggets of a segment scored exactly, all of them or those of some documents.

A pass over all nuggets gives every document's score in float32. Documents that may be among the best are rescored in
float64, one by one, so that a score depends on the vectors of the query and of the document alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from indexer.engine.query import Filter, Selection
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.nuggets.places import DocumentPlace
from indexer.nuggets.representation import stored_nuggets
from models.ops.maxsim import MaxSim, group_maxima, maxsim
from models.types import CharSpan, QueryVectors

# More than rounding in float32 can move a score by.
_ROUNDING = 1e-5
# Nuggets that are dequantised at once, and query vectors that share a pass: both bound memory.
_NUGGETS_AT_ONCE = 1_024
_VECTORS_AT_ONCE = 64

# The vectors of several queries, each of one or more.
Queries: TypeAlias = Sequence[Float32[np.ndarray, "_vectors dim"]]


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """A document with its exact score, a mean of cosines. ``place`` gives its text, metadata and nuggets."""

    document_id: str
    cosine: float
    place: DocumentPlace

    @property
    def span(self) -> CharSpan:
        """All characters of the document."""
        return self.place.span

    @property
    def order(self) -> tuple[float, str]:
        """Sorts the best first: by falling cosine (so by falling raw), then document id."""
        return -self.cosine, self.document_id


@runtime_checkable
class DocumentEngine(Protocol):
    """Search for documents by their nuggets."""

    def search(self, snapshot: Snapshot, queries: Queries, selection: Selection) -> list[list[ScoredDocument]]:
        """For every query of one or more unit-length vectors its best documents, best first."""


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


class NuggetScan:
    """Exact search through all nuggets."""

    def search(self, snapshot: Snapshot, queries: Queries, selection: Selection) -> list[list[ScoredDocument]]:
        """For every query its best documents, best first; one pass over memory serves many query vectors."""
        allowed = [allowed_nuggets(view, selection.filter) for view in snapshot.views]
        scores = [scan_nuggets(nuggets, queries) for nuggets in allowed]
        return [
            best_documents(
                [(nuggets, of[number]) for nuggets, of in zip(allowed, scores, strict=True)], query, selection
            )
            for number, query in enumerate(queries)
        ]


@dataclass(frozen=True)
class DocumentCount:
    """Every document that has a nugget, with its exact score."""

    scored: Sequence[ScoredDocument]

    @cached_property
    def documents(self) -> Float[np.ndarray, " documents"]:
        """The score of every document."""
        return np.array([document.cosine for document in self.scored], np.float64)

    def document(self, row: int) -> ScoredDocument:
        """The document in a row of :attr:`documents`."""
        return self.scored[row]


def count_documents(snapshot: Snapshot, query: QueryVectors, filter: Filter | None = None) -> DocumentCount:
    """Score every live document that passes a filter, for a query of one or more unit-length vectors."""
    allowed = [allowed_nuggets(view, filter or Filter()) for view in snapshot.views]
    return DocumentCount(
        [
            score_document(nuggets, document, query)
            for nuggets in allowed
            for document in np.unique(nuggets.documents).tolist()
        ]
    )


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


def best_documents(
    segments: Sequence[tuple[AllowedNuggets, Float[np.ndarray, " _documents"]]],
    query: QueryVectors,
    selection: Selection,
) -> list[ScoredDocument]:
    """The best documents of a snapshot with exact scores, given approximate scores by segment."""
    floor = _floor([scores for _, scores in segments], selection)
    documents = [
        score_document(allowed, document, query)
        for allowed, scores in segments
        for document in np.flatnonzero(scores >= floor).tolist()
    ]
    above = (document for document in documents if selection.floor is None or document.cosine >= selection.floor)
    return sorted(above, key=lambda document: document.order)[: selection.top_k]


def score_document(allowed: AllowedNuggets, document: int, query: QueryVectors) -> ScoredDocument:
    """The exact score of a document that has an allowed nugget."""
    segment = allowed.view.segment
    place = DocumentPlace(segment, document, allowed.of_document(document))
    return ScoredDocument(segment.document_id(document), match(place, query).score, place)


def match(place: DocumentPlace, query: QueryVectors) -> MaxSim:
    """The best of a document's allowed nuggets, numbered from 0, for every query vector, and its cosine."""
    return maxsim(query, place.nugget_vectors())


def _floor(scores: Sequence[Float[np.ndarray, " _documents"]], selection: Selection) -> float:
    """An approximate score below which no document is among the best."""
    pooled = np.concatenate([np.zeros(0), *scores])
    there = pooled[_is_there(pooled)]
    least = -np.inf if selection.floor is None else selection.floor - _ROUNDING
    if len(there) > selection.top_k:
        least = max(least, float(np.partition(there, len(there) - selection.top_k)[-selection.top_k]) - 2 * _ROUNDING)
    return max(least, -2.0)  # no score is as low; only documents without a nugget are lower


def _is_there(scores: Float[np.ndarray, " documents"]) -> Bool[np.ndarray, " documents"]:
    return scores > -np.inf
