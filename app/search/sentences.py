"""What modes that rank whole sentences by words have in common."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.search.mode import Counts, ScoredRows
from indexer.engine.base import ScoredSpan
from indexer.engine.exhaustive_count import SpanCount
from indexer.engine.named_spans import NamedSpan
from indexer.engine.query import Selection
from indexer.engine.selection import ExactSpans, selected_rows
from indexer.engine.snapshot import Place, Snapshot
from indexer.words.bm25 import SegmentWords
from indexer.words.literal import literal_spans
from models.types import CharSpan

# More results than any collection has.
ALL = 2**62


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A scored sentence; modes add the parts of its score."""

    scored: ScoredSpan

    @property
    def document_id(self) -> str:
        """The document's id."""
        return self.scored.document_id

    @property
    def span(self) -> CharSpan:
        """Its characters in the document."""
        return self.scored.span

    @property
    def cosine(self) -> float:
        """The score, ``2 * raw - 1``."""
        return self.scored.cosine

    @property
    def place(self) -> Place:
        """Its place in the document."""
        return self.scored.place


def counts_of(spans: Sequence[ExactSpans], floor: float | None) -> Counts:
    """The best sentence of every document, and the sentences above the floor, of all sentences of every segment."""
    best = [each.take(selected_rows(each, Selection(ALL, None, "document"))) for each in spans]
    over = Selection(ALL, floor, "span")
    above = None if floor is None else [each.take(selected_rows(each, over)) for each in spans]
    counted = SpanCount(best, above)
    above_rows = None if counted.spans is None else ScoredRows(counted.spans, counted.span)
    return Counts(ScoredRows(counted.documents, counted.document), above_rows)


def across_sentences(segment: SegmentWords, terms: tuple[str, ...], selection: Selection) -> ExactSpans:
    """The occurrences of the query's words that lie in more than one sentence."""
    spans = literal_spans(segment.view, terms, selection)
    ends = segment.bounds[np.searchsorted(segment.bounds, spans.starts, side="right")]
    return spans.take(np.flatnonzero(ends < spans.ends))


def snapshot_of(span: NamedSpan) -> Snapshot:
    """The snapshot of a span that a label names."""
    snapshot = span.located.view.snapshot()
    if snapshot is None:
        raise AssertionError("the span's snapshot is open")
    return snapshot
