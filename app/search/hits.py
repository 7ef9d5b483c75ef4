"""Hits of modes whose results are spans: their texts, the part of a long one that is shown, and the times of words."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from app.requests import SearchRequest
from app.search.answers import Context, Hit, ScoreExplanation
from indexer import kernels
from indexer.engine.place import Place, ScoredSpan
from indexer.segments.reader import Segment
from indexer.tuning import Tuning
from indexer.words.representation import stored_words
from models.ops.similarity import raws
from models.text.units import OLDEST
from models.text.words import words
from models.text.wrapping import unwrapped
from models.types import CharSpan, JsonValue, UnitSpan
from models.verifier.rules.polarity import has_negation, is_english, is_negated

Explain = Callable[[ScoredSpan], ScoreExplanation | None]

# Code points before and after a hit in which a negation is looked for: a clause, and a long one.
_CLAUSE_BEFORE: Final = 200
_CLAUSE_AFTER: Final = 80
# Code points of a hit's text, and units around the query's words.
MAX_TEXT: Final = 10_000
_UNITS: Final = 500
# The key of the map that ``indexer.sources.turns`` writes: the character at which a cue begins, its start, its end.
CUES: Final = "cues"


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


def _explained(request: SearchRequest, scored: ScoredSpan, explain: Explain) -> ScoreExplanation | None:
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


def is_long(span: ScoredSpan) -> bool:
    """True for a span of a stored text that is longer than the text of a hit."""
    return span.span.end - span.span.start > MAX_TEXT and span.place.confidence is None


def shortened(request: SearchRequest, span: ScoredSpan) -> ScoredSpan:
    """The span itself, or if it is too long the part of it that is shown."""
    if not is_long(span):
        return span
    segment, units = span.place.segment, span.place.segment_units
    start, end = _around_words(segment, request.text or "", units)
    limit = int(segment.unit_spans[start, 0]) + MAX_TEXT
    fitting = int(np.searchsorted(segment.unit_spans[start:end, 1], limit, side="right"))
    place = Place.at(segment, UnitSpan(start, start + max(fitting, 1)))
    return replace(span, place=place)


def _around_words(segment: Segment, text: str, units: UnitSpan) -> tuple[int, int]:
    """The first and last unit, exclusive, around most of the words of a text; without any, those of the beginning."""
    stored = stored_words(segment)
    starts, ends = np.array([units.start]), np.array([units.end])
    numbers = [] if stored is None else [stored.number(word) for word in words(text, segment.recipe.text)]
    if stored is None or not np.isin(stored.of_units[units.start : units.end], [n for n in numbers if n]).any():
        return units.start, min(units.end, units.start + _UNITS)
    weights = np.zeros(stored.terms + 1)
    weights[[number for number in numbers if number]] = 1.0
    kernels.best_windows(stored.of_units, weights, _UNITS, starts, ends)
    return int(starts[0]), int(ends[0])


def timed(metadata: Mapping[str, JsonValue], start: int, end: int) -> Mapping[str, JsonValue]:
    """The metadata of a part with ``start`` and ``end`` of the cues that some of its characters lie in.

    Metadata without a map of cues stay as they are.

    >>> part = {"start": 1.0, "end": 4.0, "cues": [[0, 1.0, 2.0], [6, 2.5, 3.0], [11, 3.0, 4.0]]}
    >>> timed(part, 7, 10)
    {'start': 2.5, 'end': 3.0}
    >>> timed({"cues": "of the caller"}, 0, 1)
    {'cues': 'of the caller'}
    """
    cues = metadata.get(CUES)
    if not isinstance(cues, list) or not all(_is_cue(cue) for cue in cues):
        return metadata
    bounded = pairwise([*cues, [end]])
    times = [cue[1:] for cue, after in bounded if cue[0] < end and (after[0] > start or after[0] == end)]
    if not times:
        return metadata
    others = {key: value for key, value in metadata.items() if key != CUES}
    return others | {"start": min(first for first, _ in times), "end": max(last for _, last in times)}


def _is_cue(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(number, int | float) for number in value)
