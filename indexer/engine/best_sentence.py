"""The sentence of a result that is nearest to a query, and the best span in it: the same, whatever search found it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Float32

from indexer import kernels
from indexer.arrays import BLOCK, EXCLUDED, SpanTerms
from indexer.engine.query import Filter
from indexer.engine.scan import code_queries
from indexer.engine.views import SegmentView
from indexer.engine.whole_spans import best_within
from indexer.segments.reader import Segment
from models.types import UnitSpan

# Units of sentences in which every span is scored exactly. In longer ones the kernel of scans finds the best start,
# and so many units on either side of it are read.
LONG: Final = 400
_AROUND: Final = 100


class BestSpan(NamedTuple):
    """The best span within some sentences, in units of their segment, and its score.

    If no span fits into them, all of their units and the cosine of these.
    """

    units: UnitSpan
    score: float


def sentences_of(segment: Segment, units: UnitSpan) -> UnitSpan:
    """The whole sentences that hold some units; the part in a segment that stores no borders."""
    bounds = segment.whole_spans["sentence"] if segment.has_borders else segment.part_units
    first = int(np.searchsorted(bounds, units.start, side="right")) - 1
    last = int(np.searchsorted(bounds, units.end, side="left"))
    return UnitSpan(int(bounds[first]), int(bounds[last]))


def nearest_sentences(
    view: SegmentView, units: UnitSpan, query: Float32[np.ndarray, " dim"], terms: SpanTerms, filter: Filter
) -> UnitSpan:
    """The sentences around the best span within many units, such as a document; its part must pass the filter."""
    coded = code_queries(query[None], terms=terms)
    blocks = np.arange(units.start // BLOCK, -(-units.end // BLOCK))
    mask = view.allowed(filter).mask
    starts = kernels.best_of_starts(view.segment.arrays, coded.codes[0], coded.steps[0], coded.terms, blocks, mask)
    at = units.start + int(starts[units.start : units.end].argmax())
    inner = sentences_of(view.segment, UnitSpan(at, at + 1))
    return UnitSpan(max(inner.start, at - _AROUND), min(inner.end, at + _AROUND)) if len(inner) > LONG else inner


def best_spans_of(
    segment: Segment, sentences: Sequence[UnitSpan], query: Float32[np.ndarray, " dim"], terms: SpanTerms
) -> list[BestSpan]:
    """The best span within some units of one part, by its exact score, for each of several such sentences."""
    starts, ends = np.array([(units.start, units.end) for units in sentences], np.int64).reshape(-1, 2).T
    scores, spans, cosines = best_within(segment, starts, ends, query, terms)
    rows = zip(sentences, scores.tolist(), spans.tolist(), cosines.tolist(), strict=True)
    return [
        BestSpan(units, cosine) if score <= EXCLUDED else BestSpan(UnitSpan(*span), score)
        for units, score, span, cosine in rows
    ]
