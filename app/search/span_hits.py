"""Hits of modes whose results are spans."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal

import numpy as np

from app.requests import SearchRequest
from app.search.long_hits import is_long, shortened
from app.search.time_codes import timed
from app.search.types import Context, Explanation, Hit
from indexer.engine.place import Place, ScoredSpan
from indexer.tuning import Tuning
from models.ops.similarity import raws
from models.text.units import OLDEST
from models.text.wrapping import unwrapped
from models.types import CharSpan, JsonValue
from models.verifier.rules.polarity import has_negation, is_english, is_negated

Explain = Callable[[ScoredSpan], Explanation | None]

# Code points before and after a hit in which a negation is looked for: a clause, and a long one.
_CLAUSE_BEFORE: Final = 200
_CLAUSE_AFTER: Final = 80


def present_spans(request: SearchRequest, spans: list[ScoredSpan], tuning: Tuning, explain: Explain) -> tuple[Hit, ...]:
    """Hits with texts and metadata, numbered from 1, offsets in the unit of the request.

    Raises ``TextNotStored`` for spans of a collection without texts, unless their places restore them.
    """
    raw = raws(np.array([scored.cosine for scored in spans], np.float64))
    scales = zip(raw.tolist(), tuning.scores(raw).tolist(), strict=True)
    shown = [shortened(request, replace(scored, place=scored.shown or scored.place)) for scored in spans]
    affirmed = request.text is not None and not has_negation(request.text)
    hits = (
        replace(_hit(request, part, rank, *scale), explanation=_explained(request, scored, explain), cut=_cut(scored))
        for rank, (scored, part, scale) in enumerate(zip(spans, shown, scales, strict=True), 1)
    )
    if not affirmed:
        return tuple(hits)
    return tuple(replace(hit, polarity=_polarity(hit, scored)) for hit, scored in zip(hits, shown, strict=True))


def _explained(request: SearchRequest, scored: ScoredSpan, explain: Explain) -> Explanation | None:
    return explain(scored) if request.explain else None


def _cut(scored: ScoredSpan) -> Literal[True] | None:
    return True if is_long(scored) else None


def _hit(request: SearchRequest, scored: ScoredSpan, rank: int, raw: float, score: float) -> Hit:
    place, span = scored.place, scored.span
    return Hit(
        document_id=scored.document_id,
        start=place.offset(span.start, request.offset_unit),
        end=place.offset(span.end, request.offset_unit),
        text=place.text(span),
        restored=None if place.confidence is None else True,
        confidence=place.confidence,
        score=score,
        raw=raw,
        mode=request.mode,
        rank=rank,
        metadata=place.metadata(),
        part_metadata=_part_metadata(place, span) or None,
        context=_around(scored, request.context, request.context) if request.context else None,
    )


def _part_metadata(place: Place, span: CharSpan) -> Mapping[str, JsonValue]:
    """The metadata of a hit's part, with the times of its words, where the part has some."""
    first = place.part_span.start
    return timed(place.part_metadata(), span.start - first, span.end - first)


def _polarity(hit: Hit, scored: ScoredSpan) -> Literal["negated"] | None:
    """``negated`` for a hit within the scope of a negation, in English; None for all others."""
    around = _around(scored, _CLAUSE_BEFORE, _CLAUSE_AFTER)
    if not is_english(around.text, {**hit.metadata, **(hit.part_metadata or {})}):
        return None
    # A line that is wrapped goes on; in collections of before every line ends what it says.
    is_old = scored.place.segment.recipe.text == OLDEST
    text = around.text if is_old else unwrapped(around.text)
    return "negated" if is_negated(text, around.start, around.end) else None


def _around(scored: ScoredSpan, before: int, after: int) -> Context:
    """A span with its surroundings."""
    return Context(*scored.place.around(before, after))
