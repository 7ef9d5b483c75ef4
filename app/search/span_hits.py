"""Hits of modes whose results are spans."""

from collections.abc import Callable

import numpy as np

from app.search.types import Context, Explanation, Hit, SearchRequest
from indexer.engine.base import ScoredSpan
from indexer.tuning import Tuning
from models.ops.similarity import raws
from models.types import CharSpan

Explain = Callable[[ScoredSpan], Explanation]


def present_spans(request: SearchRequest, spans: list[ScoredSpan], tuning: Tuning, explain: Explain) -> tuple[Hit, ...]:
    """Hits with texts and metadata, numbered from 1, offsets in the unit of the request."""
    raw = raws(np.array([scored.cosine for scored in spans], np.float64))
    scales = zip(raw.tolist(), tuning.scores(raw).tolist(), strict=True)
    return tuple(
        _hit(request, scored, rank, *scale, explain)
        for rank, (scored, scale) in enumerate(zip(spans, scales, strict=True), 1)
    )


def _hit(request: SearchRequest, scored: ScoredSpan, rank: int, raw: float, score: float, explain: Explain) -> Hit:
    place, span = scored.place, scored.span
    return Hit(
        document_id=scored.document_id,
        start=place.offset(span.start, request.offset_unit),
        end=place.offset(span.end, request.offset_unit),
        text=place.text(span),
        score=score,
        raw=raw,
        mode=request.mode,
        rank=rank,
        metadata=place.metadata(),
        part_metadata=place.part_metadata() or None,
        context=_context(scored, request.context) if request.context else None,
        explanation=explain(scored) if request.explain else None,
    )


def _context(scored: ScoredSpan, characters: int) -> Context:
    part, span = scored.place.part_span, scored.span
    around = CharSpan(max(part.start, span.start - characters), min(part.end, span.end + characters))
    return Context(scored.place.text(around), span.start - around.start, span.end - around.start)
