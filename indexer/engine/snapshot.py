"""An opened, unchanging view of one generation of a collection."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from weakref import ref

import numpy as np
from jaxtyping import Bool, Float, Int

from indexer.arrays import BITS, SENTENCE_STARTS, STRENGTHS
from indexer.engine.query import Filter
from indexer.errors import SegmentCorrupt
from indexer.segments.columns import rows_holding
from indexer.segments.layout import BLOCK
from indexer.segments.manifest import SegmentKey
from indexer.segments.opened import is_quarantined, is_readable, open_segment
from indexer.segments.reader import Segment
from indexer.segments.text import OffsetUnit
from indexer.types import Generation, Recipe
from models.ops.quantization import dequantize
from models.types import CharSpan, JsonValue, UnitSpan


@dataclass(frozen=True, slots=True)
class Allowed:
    """The allowed starts of spans: the blocks to read, and a mask over units unless all units are allowed."""

    blocks: Int[np.ndarray, " chosen"]
    mask: Bool[np.ndarray, " units"] | None


class SegmentView:
    """A segment less its tombstones."""

    def __init__(self, segment: Segment, tombstones: Int[np.ndarray, " dead"]) -> None:
        self.segment = segment
        # The snapshot that it is part of, if any.
        self.snapshot: Callable[[], Snapshot | None] = lambda: None
        self._tombstones = tombstones

    @cached_property
    def part_sizes(self) -> Int[np.ndarray, " parts"]:
        """The number of units of every part."""
        return np.diff(self.segment.part_units)

    @cached_property
    def _live(self) -> Allowed:
        return self._allow(self.live_documents[self.segment.part_document])

    def allowed(self, filter: Filter) -> Allowed:
        """The allowed starts of spans: in live documents, and parts, that pass a filter."""
        if not filter:
            return self._live
        documents = self.live_documents & rows_holding(self.segment.document_table, filter.document.items())
        parts = documents[self.segment.part_document]
        return self._allow(parts & rows_holding(self.segment.part_table, filter.part.items()))

    @cached_property
    def live_documents(self) -> Bool[np.ndarray, " documents"]:
        """A mask of the documents without a tombstone."""
        live = np.ones(self.segment.manifest.documents, bool)
        live[self._tombstones] = False
        return live

    def _allow(self, parts: Bool[np.ndarray, " parts"]) -> Allowed:
        units = self.segment.manifest.units
        blocks = -(-units // BLOCK)
        if parts.all():
            return Allowed(np.arange(blocks), None)
        mask = np.zeros(blocks * BLOCK, bool)
        mask[:units] = np.repeat(parts, self.part_sizes)
        return Allowed(np.flatnonzero(mask.reshape(blocks, BLOCK).any(axis=1)), mask[:units])


@dataclass(frozen=True, slots=True)
class DamagedSegment:
    """A segment in quarantine, which a snapshot leaves out."""

    key: SegmentKey
    error: SegmentCorrupt


class Snapshot:
    """All live segments of one generation, opened. A search uses one snapshot from start to end.

    ``damaged`` are the segments that it lacks, ``collection`` is the collection's own name, if it has one.
    """

    def __init__(
        self,
        generation: int,
        recipe: Recipe,
        views: Iterable[SegmentView],
        damaged: Iterable[DamagedSegment] = (),
        collection: str = "",
    ) -> None:
        self.collection = collection
        self.generation = generation
        self.recipe = recipe
        self.views = tuple(views)
        for view in self.views:
            view.snapshot = ref(self)
        self.damaged = tuple(damaged)

    @property
    def units(self) -> int:
        """The number of units of its segments, including those of deleted documents."""
        return sum(view.segment.manifest.units for view in self.views)

    def is_outdated(self) -> bool:
        """True if one of its segments is damaged, or the files of a damaged one have changed, since it was opened."""
        return not all(is_readable(view.segment) for view in self.views) or not all(
            is_quarantined(segment.key) for segment in self.damaged
        )

    def require_complete(self) -> None:
        """Raise ``SegmentCorrupt`` if a segment is missing."""
        for segment in self.damaged:
            raise segment.error


def open_snapshot(folder: Path, recipe: Recipe, generation: Generation) -> Snapshot:
    """Open every segment of a generation from a collection's folder; segments opened before are shared.

    Damaged segments are left out. Raises ``SegmentCorrupt`` if nothing else is left.
    """
    views: list[SegmentView] = []
    damaged: list[DamagedSegment] = []
    for live in generation.segments:
        key = SegmentKey(folder / live.info.name, live.info.manifest_sha256)
        try:
            views.append(SegmentView(open_segment(*key), live.tombstones))
        except SegmentCorrupt as error:
            damaged.append(DamagedSegment(key, error))
    snapshot = Snapshot(generation.number, recipe, views, damaged, generation.collection)
    if not views:
        snapshot.require_complete()
    return snapshot


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a span, for reading its text. Its numbers are internal to the engine."""

    _segment: Segment
    _part: int
    _units: UnitSpan

    @property
    def _document(self) -> int:
        return int(self._segment.part_document[self._part])

    @property
    def document_id(self) -> str:
        """The document's id."""
        return self._segment.document_id(self._document)

    @property
    def span(self) -> CharSpan:
        """The characters of the span, in its document."""
        return self._segment.char_span(self._units)

    @property
    def part_span(self) -> CharSpan:
        """The characters of the span's part, in its document."""
        return self._segment.part_span(self._part)

    @property
    def segment(self) -> Segment:
        """The segment that holds the span."""
        return self._segment

    @property
    def segment_units(self) -> UnitSpan:
        """The span in units of its segment."""
        return self._units

    @property
    def units(self) -> UnitSpan:
        """The span in units of its document."""
        first_part = np.searchsorted(self._segment.part_document, self._document)
        first = int(self._segment.part_units[first_part])
        return UnitSpan(self._units.start - first, self._units.end - first)

    def text(self, span: CharSpan) -> str:
        """A slice of the document's text."""
        return self._segment.text(self._document, span)

    def offset(self, code_point: int, unit: OffsetUnit) -> int:
        """A code point offset of the document, in another unit."""
        return self._segment.offset(self._document, code_point, unit)

    def metadata(self) -> dict[str, JsonValue]:
        """The document's metadata."""
        return self._segment.document_metadata(self._document)

    def part_metadata(self) -> dict[str, JsonValue]:
        """The part's metadata."""
        return self._segment.part_metadata(self._part)

    def unit_spans(self) -> list[CharSpan]:
        """The characters of every unit of the span."""
        return [CharSpan(int(a), int(b)) for a, b in self._segment.unit_spans[self._units.start : self._units.end]]

    @property
    def holds_sentence_end(self) -> bool:
        """True if a sentence, a line or more ends inside the span."""
        units = self._units
        return bool(SENTENCE_STARTS[self._segment.borders[units.start + 1 : units.end]].any())

    @property
    def borders(self) -> tuple[int, int]:
        """The strengths of the borders at the start and at the end of the span."""
        codes, units = self._segment.borders, self._units
        after = units.end if units.end < len(codes) else 0
        return int(codes[units.start]) % STRENGTHS, int(codes[after]) >> BITS

    def part_vectors(self) -> Float[np.ndarray, "units dim"]:
        """The stored vectors of the units of the span's part."""
        segment = self._segment
        units = slice(*segment.part_units[self._part : self._part + 2].tolist())
        return dequantize(segment.vectors[units], segment.scales[units])

    def unit_vectors(self) -> Float[np.ndarray, "units dim"]:
        """The stored vectors of the span's units."""
        rows = slice(self._units.start, self._units.end)
        return dequantize(self._segment.vectors[rows], self._segment.scales[rows])
