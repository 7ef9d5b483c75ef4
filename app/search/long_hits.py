"""Hits that are too long to be read: of a sentence of a megabyte, the part that holds most of the query's words."""

from dataclasses import replace
from typing import Final

import numpy as np

from app.requests import SearchRequest
from indexer import kernels
from indexer.engine.place import Place, ScoredSpan
from indexer.segments.reader import Segment
from indexer.words.representation import stored_words
from models.text.words import words
from models.types import UnitSpan

# Code points of a hit's text, and units around the query's words.
MAX_TEXT: Final = 10_000
_UNITS: Final = 500


def is_long(span: ScoredSpan) -> bool:
    """True for a span of a stored text that is longer than the text of a hit."""
    return span.span.end - span.span.start > MAX_TEXT and span.place.segment.recipe.stores_text


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
