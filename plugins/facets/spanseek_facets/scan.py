"""Search for sentences by their facets.

The score of a sentence is ``1 - SC / K``: SC (eq. 5) is how badly K facets of the query and K of the sentence
reconstruct each other, at most ``2 K``. In a large collection the sentences are scored whose facets are nearest to the
query's, facet by facet; in a small one all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Float32, Float64, Int

from indexer.engine.executor import Memo, SegmentQuery
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRows, no_rows
from indexer.engine.scan import kth_largest
from indexer.engine.selection import owners
from indexer.engine.views import SegmentView
from indexer.words.literal import BELOW
from spanseek_facets.kernels import facet_distances, facet_nearness
from spanseek_facets.representation import FacetRows, stored_facets
from spanseek_facets.scores import PENALTY, SWEEPS

Codebook = Float32[np.ndarray, "facets dim"]

# The number of sentences up to which all are scored exactly, and the least number of candidates among more.
EXACT_UP_TO: Final = 5_000
CANDIDATES: Final = 2_000
_CANDIDATES_A_HIT: Final = 10


class Near(NamedTuple):
    """The number of allowed sentences, the highest nearness of some, and of the best documents or parts."""

    rows: int
    nearness: Float32[np.ndarray, " some"]
    groups: Float32[np.ndarray, " groups"]

    def least(self, selection: Selection) -> float:
        """The least nearness of candidates: low enough for enough of them, and for ``top_k`` documents or parts."""
        count = max(CANDIDATES, _CANDIDATES_A_HIT * selection.top_k)
        if self.rows <= EXACT_UP_TO:
            return -np.inf
        if selection.group_by != "span":
            beyond = int((self.nearness > kth_largest(self.groups, selection.top_k)).sum())
            while count <= beyond:
                count *= 4
        return -np.inf if count >= self.rows else float(kth_largest(self.nearness, count))


@dataclass(frozen=True, slots=True)
class FacetScan(SegmentQuery[list[Near], list[SpanRows]]):
    """The best sentences for queries with exact scores. A query without a codebook finds none.

    The first round counts the sentences. If they are many, the second tells how near each is to the queries. With
    ``everything`` all are scored.
    """

    codebooks: tuple[Codebook | None, ...]
    everything: bool = False
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def rounds(self) -> int:
        """Two; none if all sentences are scored."""
        return 0 if self.everything else 2

    def statistics(self, view: SegmentView, total: list[Near] | None, selection: Selection) -> list[Near]:
        """The nearness of the sentences of a segment to every query."""
        rows = _allowed(view, selection)
        if total is None or total[0].rows <= EXACT_UP_TO:
            none = np.zeros(0, np.float32)
            return [Near(len(rows), none, none) for _ in self.codebooks]
        nearness = self._nearness(view, rows)
        groups = owners(view.segment, stored_facets(view.segment).units[rows].astype(np.int64), selection)
        return [Near(len(rows), near, _best_of_groups(near, groups, selection)) for near in nearness]

    def total(self, parts: Sequence[list[Near]], selection: Selection) -> list[Near]:
        """The nearness of all segments together, of which there may be none."""
        nothing = Near(0, np.zeros(0, np.float32), np.zeros(0, np.float32))
        return [_together(of_query) for of_query in zip([nothing] * len(self.codebooks), *parts, strict=True)]

    def rows(self, view: SegmentView, total: list[Near] | None, selection: Selection) -> list[SpanRows]:
        """For every query the sentences of a segment that may be selected."""
        rows = _allowed(view, selection)
        leasts = [of_query.least(selection) for of_query in total] if total else [-np.inf] * len(self.codebooks)
        near = self._nearness(view, rows) if max(leasts, default=-np.inf) > -np.inf else []
        self.memo.pop(view.name, None)
        found = []
        for number, (codebook, least) in enumerate(zip(self.codebooks, leasts, strict=True)):
            candidates = rows if least == -np.inf else rows[near[number] >= least]
            found.append(no_rows(view.name) if codebook is None else _scored(view, candidates, codebook))
        return found

    def _nearness(self, view: SegmentView, rows: Int[np.ndarray, " rows"]) -> list[Float32[np.ndarray, " rows"]]:
        stored = stored_facets(view.segment)
        return self.memo.once(
            view.name,
            lambda: [
                np.zeros(0, np.float32)
                if codebook is None
                else facet_nearness(stored.codes, stored.scales, rows, codebook)
                for codebook in self.codebooks
            ],
        )


def facet_cosines(
    codebook: Codebook, stored: FacetRows, rows: Int[np.ndarray, " rows"]
) -> Float64[np.ndarray, " rows"]:
    """The exact scores of some sentences: ``1 - SC / K``, below the score of an occurrence."""
    distances = facet_distances(stored.codes, stored.scales, rows, codebook, PENALTY, SWEEPS)
    return cosines_of(distances, len(codebook))


def cosines_of(distances: Float64[np.ndarray, " texts"], facets: int) -> Float64[np.ndarray, " texts"]:
    """Scores from distances of codebooks of ``facets`` facets.

    >>> cosines_of(np.array([20.0, 10.0, 0.8]), 10).tolist()
    [-1.0, 0.0, 0.92]
    """
    return np.clip(1 - distances / facets, -1.0, BELOW)


def sentence_ends(view: SegmentView, starts: Int[np.ndarray, " rows"]) -> Int[np.ndarray, " rows"]:
    """The ends, in units, of the sentences that begin at these units."""
    bounds = view.segment.whole_spans["sentence"]
    return bounds[np.searchsorted(bounds, starts, side="right")].astype(np.int64)


def _allowed(view: SegmentView, selection: Selection) -> Int[np.ndarray, " rows"]:
    """The rows of a segment that a selection allows."""
    starts = stored_facets(view.segment).units.astype(np.int64)
    ends = sentence_ends(view, starts) if selection.lengths else starts
    return np.flatnonzero(view.selects(starts, ends, selection))


def _together(parts: Sequence[Near]) -> Near:
    nearness, groups = (np.concatenate(column) for column in zip(*(part[1:] for part in parts), strict=True))
    return Near(sum(part.rows for part in parts), nearness, groups)


def _best_of_groups(
    near: Float32[np.ndarray, " rows"], groups: Int[np.ndarray, " rows"], selection: Selection
) -> Float32[np.ndarray, " groups"]:
    """The nearness of the nearest sentence of every group."""
    if selection.group_by == "span" or not len(near):
        return np.zeros(0, np.float32)
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))  # rows rise, and so do groups
    return np.maximum.reduceat(near, firsts)


def _scored(view: SegmentView, rows: Int[np.ndarray, " rows"], codebook: Codebook) -> SpanRows:
    stored = stored_facets(view.segment)
    starts = stored.units[rows].astype(np.int64)
    return SpanRows(view.name, starts, sentence_ends(view, starts), facet_cosines(codebook, stored, rows))
