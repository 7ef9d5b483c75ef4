"""Excerpts of stored documents: a stretch of the text with the parts that it touches."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from indexer.segments.reader import Segment
from indexer.segments.text import OffsetUnit, offset_in
from models.types import CharSpan, JsonValue


@dataclass(frozen=True, slots=True)
class ExcerptPart:
    """A part that an excerpt touches: where all of it lies in the document, and its metadata."""

    start: int
    end: int
    metadata: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Characters of a document from ``start`` on, in a unit of offsets, and the length of the whole text."""

    text: str
    start: int
    length: int
    parts: tuple[ExcerptPart, ...]


def excerpt(segment: Segment, document: int, start: int, end: int, unit: OffsetUnit) -> Excerpt:
    """The characters ``[start, end)`` of a document, without those that are cut by an edge.

    Raises ``TextNotStored``.
    """
    begin, stop = segment.text_starts[document : document + 2].tolist()
    points = range(stop - begin + 1)

    def offset(code_point: int) -> int:
        return segment.offset(document, code_point, unit)

    first = min(bisect_left(points, start, key=offset), len(points) - 1)
    last = max(first, bisect_right(points, end, key=offset) - 1)
    text = segment.text(document, CharSpan(first, last))
    parts = tuple(_parts(segment, document, first, text, unit))
    return Excerpt(text, offset(first), offset(len(points) - 1), parts)


def _parts(segment: Segment, document: int, first: int, text: str, unit: OffsetUnit) -> Iterator[ExcerptPart]:
    """Yield the parts that an excerpt touches, in order.

    To save time, an offset within the text is counted from the previous one, and not from the beginning.
    """
    last = first + len(text)
    rows = range(*segment.document_parts[document : document + 2].tolist())
    at, place = first, segment.offset(document, first, unit)

    def offset(code_point: int) -> int:
        nonlocal at, place
        if not first <= code_point <= last:
            return segment.offset(document, code_point, unit)
        place += offset_in(text[at - first : code_point - first], code_point - at, unit)
        at = code_point
        return place

    row = max(bisect_right(rows, first, key=lambda one: segment.part_span(one).start) - 1, 0)
    for part in rows[row:]:
        span = segment.part_span(part)
        if span.start >= last > first:
            return
        yield ExcerptPart(offset(span.start), offset(span.end), segment.part_metadata(part))
