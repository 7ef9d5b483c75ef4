"""Compounds: words that a hyphen joins, or numbers that a colon does, of which an occurrence may be but a part.

``exclusive licence`` stands in ``non-exclusive licence``, and ``at 9`` in ``at 9:30``, and says another thing.
"""

from typing import Final

import numpy as np
from jaxtyping import Bool, Int

from indexer.segments.reader import Segment
from indexer.words.representation import stored_words
from models.types import UnitSpan

_HYPHENS: Final = frozenset("-\u2010\u2011")


def within_compounds(
    segment: Segment, starts: Int[np.ndarray, " spans"], ends: Int[np.ndarray, " spans"]
) -> Bool[np.ndarray, " spans"]:
    """True for spans of units that a hyphen or a colon joins to the word or number before or after them."""
    return _joined(segment, starts - 1) | _joined(segment, ends)


def _joined(segment: Segment, units: Int[np.ndarray, " spans"]) -> Bool[np.ndarray, " spans"]:
    """True for units that are a hyphen between two words or a colon between two numbers, without a space."""
    stored = stored_words(segment)
    last = segment.manifest.units - 1
    inside = (units > 0) & (units < last)
    at = np.where(inside, units, 1)
    if stored is None or last < 2:
        return np.zeros(len(units), bool)
    spans = segment.unit_spans
    joined = inside & (stored.of_units[at] == 0) & (stored.of_units[at - 1] > 0) & (stored.of_units[at + 1] > 0)
    joined &= (spans[at - 1, 1] == spans[at, 0]) & (spans[at, 1] == spans[at + 1, 0])
    joined[joined] = [_joins(segment, unit) for unit in at[joined].tolist()]
    return joined


def _joins(segment: Segment, unit: int) -> bool:
    text = _text(segment, unit)
    is_colon = text == ":" and _text(segment, unit - 1)[-1:].isdigit() and _text(segment, unit + 1)[:1].isdigit()
    return is_colon or text in _HYPHENS


def _text(segment: Segment, unit: int) -> str:
    document = int(segment.part_document[segment.part_of(unit)])
    return segment.text(document, segment.char_span(UnitSpan(unit, unit + 1)))
