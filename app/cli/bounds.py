"""The bounds of spans, as options give them."""

from models.errors import InvalidInput
from models.types import SpanBounds


def span_bounds(min_span: int, max_span: int) -> SpanBounds:
    """Bounds from ``--min-span`` and ``--max-span``; ``InvalidInput`` where there are no such spans."""
    try:
        return SpanBounds(min_span, max_span)
    except ValueError:
        raise InvalidInput(
            f"Spans cannot have {min_span} to {max_span} units.",
            hint="Choose 1 <= --min-span <= --max-span <= 64.",
            field="max_span",
        ) from None
