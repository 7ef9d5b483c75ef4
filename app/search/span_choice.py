"""The lengths of spans that a request may choose."""

from typing import NoReturn

from app.requests import SpanChoice
from models.errors import InvalidInput
from models.types import SpanBounds


def check_span_choice(spans: SpanChoice, bounds: SpanBounds) -> None:
    """Raise ``InvalidInput`` for lengths that the collection's spans do not have; whole spans may have any."""
    given = [units for units in (spans.min_units, spans.max_units) if units is not None]
    if given != sorted(given) or any(units < 1 for units in given):
        _refuse_lengths("min_units must be at least 1, and at most max_units")
    if spans.boundaries == "any" and not all(bounds.shortest <= units <= bounds.longest for units in given):
        _refuse_lengths(f"the spans of this collection have {bounds.shortest} to {bounds.longest} units")


def _refuse_lengths(reason: str) -> NoReturn:
    raise InvalidInput(
        f"These lengths of spans cannot be searched: {reason}.",
        hint="Choose other lengths, or whole clauses, sentences or parts, which may have any.",
        field="spans",
    )
