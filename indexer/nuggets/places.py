"""The place of a document, to read its text and the texts of its nuggets."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int

from indexer.engine.filter_masks import parts_passing
from indexer.engine.place import Place
from indexer.engine.query import Filter
from indexer.nuggets.representation import stored_nuggets
from indexer.segments.reader import Segment
from indexer.segments.text import OffsetUnit
from models.ops.quantization import dequantize
from models.types import CharSpan, JsonValue, QueryVectors, UnitSpan


@dataclass(frozen=True, slots=True)
class NuggetPlace:
    """The token of a nugget in its document, and the segment of text that the nugget represents.

    That segment, ``segment_span``, goes from the end of the nugget before it, or the start of its part, to its own end.
    """

    token: CharSpan
    segment_span: CharSpan


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """A document of a segment, and its nuggets that a search may use. The numbers are private to the engine."""

    _segment: Segment
    _document: int
    _nuggets: Int[np.ndarray, " nuggets"]

    @classmethod
    def at(cls, place: Place, filter: Filter) -> "DocumentPlace":
        """The document of a span, with its nuggets in parts that pass a filter."""
        segment = place.segment
        document = int(segment.part_document[place.part])
        stored = stored_nuggets(segment)
        rows = np.arange(*stored.document_bounds(segment.document_units)[document : document + 2].tolist())
        if filter.asks_parts:
            parts = np.searchsorted(segment.part_units, stored.units[rows], side="right") - 1
            rows = rows[parts_passing(segment, filter)[parts]]
        return cls(segment, document, rows)

    @property
    def span(self) -> CharSpan:
        """All characters of the document."""
        starts = self._segment.text_starts
        return CharSpan(0, int(starts[self._document + 1] - starts[self._document]))

    @property
    def part_span(self) -> CharSpan:
        """The same as ``span``: the surroundings of a document's text are the document."""
        return self.span

    def text(self, span: CharSpan) -> str:
        """A slice of the document's text."""
        return self._segment.text(self._document, span)

    def offset(self, code_point: int, unit: OffsetUnit) -> int:
        """A code point offset of the document, in another unit."""
        return self._segment.offset(self._document, code_point, unit)

    def metadata(self) -> dict[str, JsonValue]:
        """The document's metadata."""
        return self._segment.document_metadata(self._document)

    def nugget_vectors(self) -> Float32[np.ndarray, "nuggets dim"]:
        """The stored vectors of the nuggets."""
        stored = stored_nuggets(self._segment)
        return dequantize(stored.codes[self._nuggets], stored.scales[self._nuggets])

    def best_sentence(self, query: QueryVectors) -> tuple[CharSpan, float] | None:
        """The sentence whose nuggets alone have the highest MaxSim, and that score; None without borders or nuggets."""
        if not self._segment.has_borders or not len(self._nuggets):
            return None
        bounds = self._segment.whole_spans["sentence"]
        of_nuggets = np.searchsorted(bounds, stored_nuggets(self._segment).units[self._nuggets], side="right") - 1
        sentences, firsts = np.unique(of_nuggets, return_index=True)
        cosines = self.nugget_vectors().astype(np.float64) @ query.astype(np.float64).T
        scores = np.maximum.reduceat(cosines, firsts).mean(axis=1)
        best = int(scores.argmax())
        first, last = bounds[sentences[best] : sentences[best] + 2].tolist()
        return self._segment.char_span(UnitSpan(first, last)), float(scores[best])

    def nugget(self, number: int) -> NuggetPlace:
        """The place of one of the nuggets, numbered from 0."""
        row = int(self._nuggets[number])
        stored = stored_nuggets(self._segment)
        start, end = stored.spans[row].tolist()
        part = self._segment.part_of(int(stored.units[row]))
        of_part = slice(*np.searchsorted(stored.units, self._segment.part_units[part : part + 2]).tolist())
        starts, ends = stored.spans[of_part].astype(np.int64).T
        before = int(ends[starts < start].max(initial=self._segment.part_span(part).start))
        return NuggetPlace(CharSpan(start, end), CharSpan(min(before, start), end))
