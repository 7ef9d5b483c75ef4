"""Sentences by meaning and by words, in every segment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from app.search.modes.hybrid.scorer import HybridQuery, Scorer, SegmentCounts
from indexer.engine.executor import Memo, SegmentQuery
from indexer.engine.query import Selection
from indexer.engine.rows import SpanRows, no_rows
from indexer.engine.selection import owners
from indexer.engine.views import SegmentView
from indexer.words.bm25 import WordCounts, sum_counts, units_in_reach

# By segment the first units of the spans that are nearest to a query.
Near: TypeAlias = Mapping[str, Int[np.ndarray, " _spans"]]


@dataclass(frozen=True, slots=True)
class HybridScan(SegmentQuery[list[SegmentCounts], list[SpanRows]]):
    """The sentences of the best spans of queries, ``near``, and those with the best shares of BM25; without it all."""

    queries: tuple[HybridQuery, ...]
    near: tuple[Near, ...] | None
    by_words: int = 0
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def rounds(self) -> int:
        """One: words weigh by how many sentences, and parts, of all segments have them."""
        return 1

    def statistics(
        self, view: SegmentView, total: list[SegmentCounts] | None, selection: Selection
    ) -> list[SegmentCounts]:
        """The words of a segment, for every query."""
        reach = units_in_reach(view, selection.filter)
        return [
            (WordCounts.none(query.words),) * 2 if scorer is None else scorer.counts(reach)
            for query, scorer in zip(self.queries, self._scorers(view, selection), strict=True)
        ]

    def total(self, parts: Sequence[list[SegmentCounts]], selection: Selection) -> list[SegmentCounts]:
        """The counts of all segments."""
        words = [query.words for query in self.queries]
        own, of_parts = ([[pair[at] for pair in part] for part in parts] for at in (0, 1))
        return list(zip(sum_counts(words, own), sum_counts(words, of_parts), strict=True))

    def rows(self, view: SegmentView, total: list[SegmentCounts] | None, selection: Selection) -> list[SpanRows]:
        """The sentences of a segment that may be selected, for every query."""
        scorers, found = self._scorers(view, selection), []
        self.memo.pop(view.name, None)
        for number, (scorer, counts) in enumerate(zip(scorers, total or self.total([], selection), strict=True)):
            if scorer is None:
                found.append(no_rows(view.name))
                continue
            bounds = scorer.words.bounds
            chosen = view.selects(bounds[:-1], bounds[1:], selection)
            rows = np.flatnonzero(chosen)
            if self.near is not None:
                candidates = self._candidates(view, scorer, counts, chosen, self.near[number], selection)
                rows = candidates[chosen[candidates]]
            found.append(scorer.rows(counts, rows))
        return found

    def _candidates(
        self,
        view: SegmentView,
        scorer: Scorer,
        counts: SegmentCounts,
        chosen: Bool[np.ndarray, " whole_spans"],
        near: Near,
        selection: Selection,
    ) -> Int[np.ndarray, " rows"]:
        """The whole spans of the best spans and of the best words; all of their parts or documents if hits are grouped.

        The best whole span of a document need not be the one with its best span.
        """
        bounds = scorer.words.bounds
        of_spans = np.searchsorted(bounds, near.get(view.name, np.zeros(0, np.int64)), side="right") - 1
        rows = np.union1d(of_spans, scorer.best_by_words(counts, chosen, self.by_words)).astype(np.int64)
        if selection.group_by == "span":
            return rows
        groups = owners(view.segment, bounds[:-1], selection)
        return np.flatnonzero(np.isin(groups, groups[rows]))

    def _scorers(self, view: SegmentView, selection: Selection) -> list[Scorer | None]:
        return self.memo.once(
            view.name, lambda: [Scorer.read(view.segment, query, selection.boundary) for query in self.queries]
        )
