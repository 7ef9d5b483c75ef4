"""Scored spans made presentable."""

import numpy as np
from jaxtyping import Float32

from app.search.types import Context, Explanation, Hit, SearchRequest, UnitContribution
from indexer.engine.base import ScoredSpan
from indexer.tuning import Tuning
from models.ops.similarity import raws
from models.types import CharSpan


def present(
    request: SearchRequest, query: Float32[np.ndarray, " dim"], spans: list[ScoredSpan], tuning: Tuning
) -> tuple[Hit, ...]:
    """Hits with texts and metadata, numbered from 1, offsets in the unit the caller asked for."""
    raw = raws(np.array([scored.cosine for scored in spans], np.float64))
    scales = zip(raw.tolist(), tuning.scores(raw).tolist(), strict=True)
    return tuple(
        _hit(request, query, scored, rank, *scale)
        for rank, (scored, scale) in enumerate(zip(spans, scales, strict=True), 1)
    )


def _hit(
    request: SearchRequest, query: Float32[np.ndarray, " dim"], scored: ScoredSpan, rank: int, raw: float, score: float
) -> Hit:
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
        explanation=_explanation(request, query, scored) if request.explain else None,
    )


def _context(scored: ScoredSpan, characters: int) -> Context:
    part, span = scored.place.part_span, scored.span
    around = CharSpan(max(part.start, span.start - characters), min(part.end, span.end + characters))
    return Context(scored.place.text(around), span.start - around.start, span.end - around.start)


def _explanation(request: SearchRequest, query: Float32[np.ndarray, " dim"], scored: ScoredSpan) -> Explanation:
    """Every unit's part in the cosine: its dot product with the query, over the norm of the span's sum."""
    place = scored.place
    vectors = place.unit_vectors().astype(np.float64)
    contributions = vectors @ query / np.linalg.norm(vectors.sum(axis=0))
    units = (
        UnitContribution(
            place.offset(unit.start, request.offset_unit),
            place.offset(unit.end, request.offset_unit),
            place.text(unit),
            float(contribution),
        )
        for unit, contribution in zip(place.unit_spans(), contributions, strict=True)
    )
    return Explanation(scored.cosine, tuple(units))
