"""The place of a span, made when a hit is presented: its document, text and metadata."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float

from indexer.arrays import BITS, SENTENCE_STARTS, STRENGTHS
from indexer.segments.reader import Segment
from indexer.segments.text import OffsetUnit
from indexer.types import Recipe
from models.ops.quantization import dequantize
from models.types import CharSpan, JsonValue, UnitSpan

# Units on either side of a span among which its sentences begin and end.
_BESIDE: Final = 100


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a span, for reading its text. Its numbers are internal to the engine."""

    segment: Segment
    part: int
    segment_units: UnitSpan  # counted through the segment

    @staticmethod
    def at(segment: Segment, units: UnitSpan) -> "Place":
        """The place of a span of a segment's units."""
        return Place(segment, segment.part_of(units.start), units)

    @property
    def _document(self) -> int:
        return int(self.segment.part_document[self.part])

    @property
    def document_id(self) -> str:
        """The document's id."""
        return self.segment.document_id(self._document)

    @property
    def span(self) -> CharSpan:
        """The characters of the span, in its document."""
        return self.segment.char_span(self.segment_units)

    @property
    def part_span(self) -> CharSpan:
        """The characters of the span's part, in its document."""
        return self.segment.part_span(self.part)

    @property
    def units(self) -> UnitSpan:
        """The span in units of its document."""
        first_part = np.searchsorted(self.segment.part_document, self._document)
        first = int(self.segment.part_units[first_part])
        return UnitSpan(self.segment_units.start - first, self.segment_units.end - first)

    def text(self, span: CharSpan) -> str:
        """A slice of the document's text."""
        return self.segment.text(self._document, span)

    def stored_text(self) -> str:
        """The text of the span; empty where the segment stores no texts."""
        return self.segment.stored_text(self._document, self.span)

    @property
    def confidence(self) -> float | None:
        """Of a restored text the probability of its least certain token; None for a stored one."""
        return None

    def around(self, before: int, after: int) -> tuple[str, int, int]:
        """The span with as many characters before and after it in its part, and where it stands in them."""
        part, span = self.part_span, self.span
        start, end = max(part.start, span.start - before), min(part.end, span.end + after)
        return self.text(CharSpan(start, end)), span.start - start, span.end - start

    def sentence(self) -> CharSpan:
        """The characters of the sentences that hold the span, in its document: at most 100 units on either side."""
        units, (first, last) = self.segment_units, self.segment.part_units[self.part : self.part + 2].tolist()
        begin, end = max(first, units.start - _BESIDE), min(last, units.end + _BESIDE)
        starts = np.flatnonzero(SENTENCE_STARTS[self.segment.borders[begin:end]]) + begin
        before, after = starts[starts <= units.start], starts[starts >= units.end]
        start, stop = (before[-1] if len(before) else begin), (after[0] if len(after) else end)
        return self.segment.char_span(UnitSpan(int(start), int(stop)))

    def offset(self, code_point: int, unit: OffsetUnit) -> int:
        """A code point offset of the document, in another unit."""
        return self.segment.offset(self._document, code_point, unit)

    def metadata(self) -> dict[str, JsonValue]:
        """The document's metadata."""
        return self.segment.document_metadata(self._document)

    def part_metadata(self) -> dict[str, JsonValue]:
        """The part's metadata."""
        return self.segment.part_metadata(self.part)

    def unit_spans(self) -> list[CharSpan]:
        """The characters of every unit of the span."""
        units = self.segment_units
        return [CharSpan(int(a), int(b)) for a, b in self.segment.unit_spans[units.start : units.end]]

    @property
    def holds_sentence_end(self) -> bool:
        """True if a sentence, a line or more ends inside the span."""
        units = self.segment_units
        return bool(SENTENCE_STARTS[self.segment.borders[units.start + 1 : units.end]].any())

    @property
    def borders(self) -> tuple[int, int]:
        """The strengths of the borders at the start and at the end of the span."""
        codes, units = self.segment.borders, self.segment_units
        after = units.end if units.end < len(codes) else 0
        return int(codes[units.start]) % STRENGTHS, int(codes[after]) >> BITS

    def part_vectors(self) -> Float[np.ndarray, "units dim"]:
        """The stored vectors of the units of the span's part."""
        segment = self.segment
        units = slice(*segment.part_units[self.part : self.part + 2].tolist())
        return dequantize(segment.vectors[units], segment.scales[units])

    def unit_vectors(self) -> Float[np.ndarray, "units dim"]:
        """The stored vectors of the span's units."""
        rows = slice(self.segment_units.start, self.segment_units.end)
        return dequantize(self.segment.vectors[rows], self.segment.scales[rows])


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A span at its place with its exact cosine. ``exact``: it holds the query's own words (``app.search.literal``).

    ``shown`` is the place that a hit shows instead (``app.search.verification.marking``); None for its own.
    """

    cosine: float
    place: Place
    exact: bool = False
    shown: Place | None = None

    @property
    def document_id(self) -> str:
        """The document's id."""
        return self.place.document_id

    @property
    def span(self) -> CharSpan:
        """Its characters in the document."""
        return self.place.span

    @property
    def units(self) -> UnitSpan:
        """Its units in the document."""
        return self.place.units

    @property
    def order(self) -> tuple[float, str, int]:
        """Sorts the best first: by falling cosine (so by falling raw), then document id, then start."""
        return -self.cosine, self.document_id, self.span.start


@dataclass(frozen=True, slots=True)
class RestoredText:
    """A restored text, and the confidence of its least certain token."""

    text: str
    confidence: float


@runtime_checkable
class Texts(Protocol):
    """Gives the texts of segments, stored or restored."""

    def warm_up(self) -> None:
        """Load what that needs."""

    def placed(self, spans: Sequence[ScoredSpan]) -> list[ScoredSpan]:
        """The same spans at places that read these texts."""

    def parts(self, segment: Segment, document: int) -> list[RestoredText]:
        """The texts of the parts of a document."""


# Restores the texts of the collections of a recipe.
TextsOf: TypeAlias = Callable[[Recipe], Texts]


class StoredTexts:
    """The texts that segments store: spans read them where they are."""

    def warm_up(self) -> None:
        """Do nothing: there is nothing to load."""

    def placed(self, spans: Sequence[ScoredSpan]) -> list[ScoredSpan]:
        """The same spans."""
        return list(spans)

    def parts(self, segment: Segment, document: int) -> list[RestoredText]:
        """The texts of the parts of a document, which are certain."""
        first, last = segment.document_parts[document : document + 2].tolist()
        return [RestoredText(segment.text(document, segment.part_span(part)), 1.0) for part in range(first, last)]
