"""Documents by MaxSim: the nuggets of a segment, or of some of its documents, scored exactly.

A pass over all nuggets gives every document's score in float32. Documents that may be among the best are rescored in
float64, one by one, so that a score depends on the vectors of the query and of the document alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Float32, Int

from indexer.engine.query import Filter
from indexer.engine.rows import SpanRows
from indexer.engine.views import SegmentView
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
