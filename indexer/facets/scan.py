"""Search for sentences by their facets.

The score of a sentence is ``1 - SC / K``: SC (eq. 5) is how badly K facets of the query and K of the sentence
reconstruct each other, at most ``2 K``. In a large collection the sentences are scored whose facets are nearest to the
query's, facet by facet; in a small one all of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float, Float32, Float64, Int

from indexer.engine.query import Filter, Selection
from indexer.engine.selection import ExactSpans
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.facets.files import FacetRows
from indexer.facets.representation import stored_facets
from indexer.words.literal import BELOW, Terms, joined, literal_spans
from models.ops.facets import codebook_distance

Codebook = Float32[np.ndarray, "facets dim"]

# Up to so many sentences are all scored exactly, and of more at least so many candidates.
EXACT_UP_TO: Final = 2_000
CANDIDATES: Final = 500
_CANDIDATES_A_HIT: Final = 10
_AT_ONCE: Final = 1_024


def facet_spans(snapshot: Snapshot, codebook: Codebook | None, terms: Terms, selection: Selection) -> list[ExactSpans]:
    """The sentences of every segment that may be selected, with exact scores.

    Those that hold the query's words in their order score 1. Without a codebook there are no others.
    """
    views = snapshot.views
    rows = [_allowed(view, selection) if codebook is not None else np.zeros(0, np.int64) for view in views]
    if codebook is not None and sum(map(len, rows)) > EXACT_UP_TO:
        rows = _candidates(views, rows, codebook, max(CANDIDATES, _CANDIDATES_A_HIT * selection.top_k))
    return [_scored(view, of_view, codebook, terms, selection) for view, of_view in zip(views, rows, strict=True)]


def count_spans(snapshot: Snapshot, codebook: Codebook | None, terms: Terms, filter: Filter) -> list[ExactSpans]:
    """All sentences of every segment, with exact scores."""
    selection = Selection(2**62, filter=filter)
    none = np.zeros(0, np.int64)
    return [
        _scored(view, none if codebook is None else _allowed(view, selection), codebook, terms, selection)
        for view in snapshot.views
    ]


def facet_cosines(
    codebook: Codebook, stored: FacetRows, rows: Int[np.ndarray, " rows"]
) -> Float64[np.ndarray, " rows"]:
    """The exact scores of some sentences."""
    pieces = [rows[begin : begin + _AT_ONCE] for begin in range(0, len(rows), _AT_ONCE)]
    return np.concatenate([np.zeros(0), *(codebook_cosines(codebook, stored.vectors(piece)) for piece in pieces)])


def codebook_cosines(
    codebook: Codebook, others: Float32[np.ndarray, "texts facets dim"]
) -> Float64[np.ndarray, " texts"]:
    """``1 - SC / K`` of a codebook and others of as many facets, at most that of no occurrence.

    >>> codebook_cosines(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[None]).round(3).tolist()
    [0.92]
    """
    distances = codebook_distance(np.broadcast_to(codebook, others.shape), others)
    return np.clip(1 - distances / len(codebook), -1.0, BELOW)


def sentence_ends(view: SegmentView, starts: Int[np.ndarray, " rows"]) -> Int[np.ndarray, " rows"]:
    """The units behind sentences that begin at these."""
    bounds = view.segment.wholes["sentence"]
    return bounds[np.searchsorted(bounds, starts, side="right")].astype(np.int64)


def _allowed(view: SegmentView, selection: Selection) -> Int[np.ndarray, " rows"]:
    """The rows of a segment that a selection allows."""
    starts = stored_facets(view.segment).units.astype(np.int64)
    mask = view.allowed(selection.filter).mask
    chosen = np.ones(len(starts), bool) if mask is None else mask[starts]
    if selection.lengths:
        chosen &= selection.lengths.contain(sentence_ends(view, starts) - starts)
    return np.flatnonzero(chosen)


def _candidates(
    views: Sequence[SegmentView], rows: Sequence[Int[np.ndarray, " _rows"]], codebook: Codebook, count: int
) -> list[Int[np.ndarray, " _some"]]:
    """Of all rows those whose facets are nearest to the query's."""
    near = [_nearness(codebook, stored_facets(view.segment), some) for view, some in zip(views, rows, strict=True)]
    every = np.concatenate(near)
    least = np.partition(every, -count)[-count] if len(every) > count else -np.inf
    return [some[of_view >= least] for some, of_view in zip(rows, near, strict=True)]


def _nearness(codebook: Codebook, stored: FacetRows, rows: Int[np.ndarray, " rows"]) -> Float32[np.ndarray, " rows"]:
    """The mean cosine of every facet, on both sides, with the nearest of the other side."""
    near = np.empty(len(rows), np.float32)
    for begin in range(0, len(rows), _AT_ONCE):
        some = slice(begin, begin + _AT_ONCE)
        facets = stored.vectors(rows[some])
        cosines: Float[np.ndarray, "some facets queries"] = facets @ codebook.T
        near[some] = cosines.max(axis=1).mean(axis=1) + cosines.max(axis=2).mean(axis=1)
    return near


def _scored(
    view: SegmentView, rows: Int[np.ndarray, " rows"], codebook: Codebook | None, terms: Terms, selection: Selection
) -> ExactSpans:
    literal = literal_spans(view, terms, replace(selection, boundary="sentence"))
    stored = stored_facets(view.segment)
    rows = rows[~np.isin(stored.units[rows], literal.starts)]
    starts = stored.units[rows].astype(np.int64)
    cosines = np.zeros(0) if codebook is None else facet_cosines(codebook, stored, rows)
    return joined(literal, ExactSpans(view, starts, sentence_ends(view, starts), cosines))
