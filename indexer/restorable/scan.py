"""Exact search for sentences by the part of their restorable vectors that searches compare.

The score of a sentence is its cosine with the query. Grouped by document, a query of several sentences scores a
document as MaxSim does: the mean, over the query's sentences, of the best sentence in the document.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from jaxtyping import Float32, Float64, Int

from indexer.engine.executor import SegmentQuery
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRows
from indexer.engine.selection import best_of_documents, over_floor
from indexer.engine.views import SegmentView
from indexer.restorable.files import RestorableRows, stored_restorable

# Rows whose int8 vectors are widened at once: what stays in the processor's cache.
_ROWS_AT_ONCE: Final = 4_096


@dataclass(frozen=True, slots=True)
class SentenceQuery:
    """The unit vectors of a query and of its sentences."""

    vector: Float32[np.ndarray, " compared"]
    sentences: Float32[np.ndarray, "sentences compared"]

    def vectors(self, selection: Selection) -> Float32[np.ndarray, "_vectors compared"]:
        """The vectors that count: the sentences' for documents, else the query's."""
        return self.sentences if selection.group_by == "document" else self.vector[None]


@dataclass(frozen=True, slots=True)
class SentenceScan(SegmentQuery[None, list[SpanRows]]):
    """The best sentences for queries, with exact cosines; of a document the one that is nearest to the query."""

    queries: tuple[SentenceQuery, ...]

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """For every query all allowed sentences of a segment."""
        return [scored_rows(view, query, selection) for query in self.queries]


@dataclass(frozen=True, slots=True)
class SentenceCounts(SegmentQuery[None, list[SpanRows]]):
    """The score of every document for one query, and the sentences over a floor; without one the former again."""

    query: SentenceQuery
    floor: float | None

    def rows(self, view: SegmentView, total: None, selection: Selection) -> list[SpanRows]:
        """The documents of a segment, and its sentences."""
        documents = scored_rows(view, self.query, replace(selection, group_by="document"))
        best = best_of_documents(view.segment, documents)
        if self.floor is None:
            return [best, best]
        return [best, over_floor(view.segment, scored_rows(view, self.query, selection), self.floor)]


def scored_rows(view: SegmentView, query: SentenceQuery, selection: Selection) -> SpanRows:
    """The allowed sentences of a segment; by document, its best sentence with the score of the document."""
    stored = stored_restorable(view.segment)
    starts = stored.units.astype(np.int64)
    ends = row_ends(view, stored)
    rows = np.flatnonzero(view.selects(starts, ends, selection))
    cosines = cosines_of(stored, query.vectors(selection))[:, rows]
    if selection.group_by == "document" and len(rows):
        rows, scores = _by_document(view, starts, rows, cosines)
    else:
        scores = cosines.mean(axis=0)
    return SpanRows(view.name, starts[rows], ends[rows], scores)


def cosines_of(
    stored: RestorableRows, vectors: Float32[np.ndarray, "queries compared"]
) -> Float64[np.ndarray, "queries rows"]:
    """The cosine of every vector with every row."""
    cosines = np.empty((len(vectors), len(stored)))
    for start in range(0, len(stored), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        # By einsum, not by BLAS, whose rounding depends on the number of queries.
        products = np.einsum("qd,rd->qr", vectors, stored.compared[some].astype(np.float32))
        cosines[:, some] = products * stored.scales[some]
    return np.clip(cosines, -1.0, 1.0)


def row_ends(view: SegmentView, stored: RestorableRows) -> Int[np.ndarray, " rows"]:
    """The end of every row in units, which is the start of the next one. Pieces of one long unit all end with it."""
    if not len(stored):
        return np.zeros(0, np.int64)
    starts = stored.units.astype(np.int64)
    return np.maximum(np.append(starts[1:], view.segment.manifest.units), starts + 1)


def _by_document(
    view: SegmentView,
    starts: Int[np.ndarray, " all"],
    rows: Int[np.ndarray, " rows"],
    cosines: Float64[np.ndarray, "sentences rows"],
) -> tuple[Int[np.ndarray, " documents"], Float64[np.ndarray, " documents"]]:
    """The best row of every document, and the mean over the query's sentences of their best cosines in it."""
    documents = np.searchsorted(view.segment.document_units, starts[rows], side="right") - 1
    firsts = np.flatnonzero(np.diff(documents, prepend=-1))
    scores = np.maximum.reduceat(cosines, firsts, axis=1).mean(axis=0)
    order = np.lexsort((np.arange(len(rows)), -cosines.mean(axis=0), documents))
    return rows[order[firsts]], scores
