"""Validation of span bounds."""

from models.errors import InvalidInput
from models.types import SpanBounds


def span_bounds(shortest: int, longest: int) -> SpanBounds:
    """Bounds of spans in units. Raises ``InvalidInput`` for invalid bounds.

    >>> span_bounds(1, 20)
    SpanBounds(shortest=1, longest=20)
    """
    try:
        return SpanBounds(shortest, longest)
    except ValueError:
        raise InvalidInput(
            f"Spans cannot have {shortest} to {longest} units.",
            hint="Choose 1 <= shortest <= longest <= 64.",
            field="span_units",
        ) from None
