"""Search for sentences by their facets.

The score of a sentence is ``1 - SC / K``: SC (eq. 5) is how badly K facets of the query and K of the sentence
reconstruct each other, at most ``2 K``. In a large collection the sentences are scored whose facets are nearest to the
query's, facet by facet; in a small one all of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float32, Float64, Int

from indexer import kernels
from indexer.engine.base import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.selection import ExactSpans, choose
from indexer.engine.snapshot import SegmentView, Snapshot
from indexer.facets.files import FacetRows
from indexer.facets.representation import stored_facets
from indexer.words.literal import BELOW, Terms, joined, literal_spans
from models.ops.facets import PENALTY, SWEEPS

Codebook = Float32[np.ndarray, "facets dim"]

# Up to so many sentences are all scored exactly, and of more at least so many candidates.
EXACT_UP_TO: Final = 5_000
CANDIDATES: Final = 2_000
_CANDIDATES_A_HIT: Final = 10


def search_facets(
    snapshot: Snapshot, codebook: Codebook | None, terms: Terms, selection: Selection
) -> list[ScoredSpan]:
    """The selected sentences, best first, with exact scores.

    Those that hold the query's words in their order score 1. Without a codebook there are no others.
    """
    rows = [np.zeros(0, np.int64) if codebook is None else _allowed(view, selection) for view in snapshot.views]
    near, total = None, sum(map(len, rows))
    count = total if total <= EXACT_UP_TO else max(CANDIDATES, _CANDIDATES_A_HIT * selection.top_k)
    while True:
        candidates = rows
        if codebook is not None and count < total:
            near = near or _nearness(codebook, snapshot.views, rows)
            candidates = _nearest(rows, near, count)
        pairs = zip(snapshot.views, candidates, strict=True)
        spans = [_scored(view, of_view, codebook, terms, selection) for view, of_view in pairs]
        if count >= total or _fills(spans, selection):
            return choose(spans, selection)
        count *= 4


def _fills(spans: Sequence[ExactSpans], selection: Selection) -> bool:
    """True if there are enough candidates for ``top_k`` documents or parts; those of few may be nearest."""
    return selection.group_by == "span" or len(choose(spans, replace(selection, floor=None))) == selection.top_k


def count_spans(snapshot: Snapshot, codebook: Codebook | None, terms: Terms, selection: Selection) -> list[ExactSpans]:
    """All selected sentences of every segment, with exact scores."""
    none = np.zeros(0, np.int64)
    return [
        _scored(view, none if codebook is None else _allowed(view, selection), codebook, terms, selection)
        for view in snapshot.views
    ]


def facet_cosines(
    codebook: Codebook, stored: FacetRows, rows: Int[np.ndarray, " rows"]
) -> Float64[np.ndarray, " rows"]:
    """The exact scores of some sentences: ``1 - SC / K``, less than that of an occurrence."""
    distances = kernels.facet_distances(stored.codes, stored.scales, rows, codebook, PENALTY, SWEEPS)
    return cosines_of(distances, len(codebook))


def cosines_of(distances: Float64[np.ndarray, " texts"], facets: int) -> Float64[np.ndarray, " texts"]:
    """Scores from distances of codebooks that have so many facets.

    >>> cosines_of(np.array([20.0, 10.0, 0.8]), 10).tolist()
    [-1.0, 0.0, 0.92]
    """
    return np.clip(1 - distances / facets, -1.0, BELOW)


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


def _nearest(
    rows: Sequence[Int[np.ndarray, " _rows"]], near: Sequence[Float32[np.ndarray, " _rows"]], count: int
) -> list[Int[np.ndarray, " _some"]]:
    """Of all rows so many that are nearest to the query, and those that tie with the last."""
    least = np.partition(np.concatenate(near), -count)[-count]
    return [some[of_view >= least] for some, of_view in zip(rows, near, strict=True)]


def _nearness(
    codebook: Codebook, views: Sequence[SegmentView], rows: Sequence[Int[np.ndarray, " _rows"]]
) -> list[Float32[np.ndarray, " _rows"]]:
    """How near the facets of every row are to the query's."""
    pairs = zip((stored_facets(view.segment) for view in views), rows, strict=True)
    return [kernels.facet_nearness(stored.codes, stored.scales, some, codebook) for stored, some in pairs]


def _scored(
    view: SegmentView, rows: Int[np.ndarray, " rows"], codebook: Codebook | None, terms: Terms, selection: Selection
) -> ExactSpans:
    literal = literal_spans(view, terms, replace(selection, boundary="sentence"))
    stored = stored_facets(view.segment)
    rows = rows[~np.isin(stored.units[rows], literal.starts)]
    starts = stored.units[rows].astype(np.int64)
    cosines = np.zeros(0) if codebook is None else facet_cosines(codebook, stored, rows)
    return joined(literal, ExactSpans(view, starts, sentence_ends(view, starts), cosines))
