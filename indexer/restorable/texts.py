"""The texts of stored spans, restored from the vectors of their sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Lock
from typing import Final

import numpy as np

from indexer.engine.place import Place, RestoredText, ScoredSpan
from indexer.restorable.files import stored_restorable
from indexer.segments.manifest import SegmentKey
from indexer.segments.reader import Segment
from models.encoders.restorable.base import Restoration, Restorer
from models.text.units import split
from models.types import CharSpan, UnitSpan

# The number of restored sentences that are kept, enough for some hundred answers.
_KEPT: Final = 10_000
# Sentences that are restored before another thread may: a large document does not hold up searches.
_AT_ONCE: Final = 128


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the restorable vectors of a segment: a sentence, or a piece of a long one, and its units."""

    segment: Segment
    number: int
    units: UnitSpan

    @property
    def key(self) -> tuple[SegmentKey, int]:
        """Identifies the row."""
        return self.segment.key, self.number


class RestoredTexts:
    """Restores sentences of segments, many at once, and keeps the last ones. Safe to share between threads."""

    def __init__(self, restorer: Restorer) -> None:
        self.restorer = restorer
        self._kept: dict[tuple[SegmentKey, int], Restoration] = {}
        self._lock = Lock()
        self._is_warm = False

    def warm_up(self) -> None:
        """Load what restores texts: torch and its kernels load with the first ones."""
        if not self._is_warm:
            self.restorer.meanings(["word"])
            self.restorer.restore(self.restorer.encode(["word"]))
            self._is_warm = True

    def placed(self, spans: Sequence[ScoredSpan]) -> list[ScoredSpan]:
        """The same spans at places that read restored texts; their sentences are restored together."""
        places = [RestoredPlace.of(scored.place, self) for scored in spans]
        self.restorations([row for place in places for row in rows_of(place.segment, place.segment_units)])
        return [replace(scored, place=place) for scored, place in zip(spans, places, strict=True)]

    def parts(self, segment: Segment, document: int) -> list[RestoredText]:
        """The texts of the parts of a document."""
        first, last = segment.document_parts[document : document + 2].tolist()
        bounds = segment.part_units[first : last + 1].tolist()
        units = [UnitSpan(*pair) for pair in pairwise(bounds)]
        self.restorations([row for span in units for row in rows_of(segment, span)])
        return [self.read(segment, span) for span in units]

    def read(self, segment: Segment, units: UnitSpan) -> RestoredText:
        """The text of a span of units; for an empty span, no text and full confidence.

        A sentence that was restored with another number of units than it had is returned whole: which of its units are
        meant is unknown.
        """
        rows = rows_of(segment, units)
        restorations = self.restorations(rows)
        pieces = [(row, _cut(row, each.text, units)) for row, each in zip(rows, restorations, strict=True)]
        return RestoredText(_joined(pieces), min((each.confidence for each in restorations), default=1.0))

    def restorations(self, rows: Sequence[Row]) -> list[Restoration]:
        """The texts that the vectors of rows give."""
        pieces = (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))
        return [restoration for piece in pieces for restoration in self._restored(piece)]

    def _restored(self, rows: Sequence[Row]) -> list[Restoration]:
        with self._lock:  # one thread at a time: a restoration uses all processors
            missing = {row.key: row for row in rows if row.key not in self._kept}
            memories = [stored_restorable(row.segment).memory(row.number) for row in missing.values()]
            restored = self.restorer.restore(memories) if memories else []
            self._kept |= zip(missing, restored, strict=True)
            found = [self._kept[row.key] for row in rows]
            for key in list(self._kept)[: max(0, len(self._kept) - _KEPT)]:
                del self._kept[key]
        return found


@dataclass(frozen=True, slots=True)
class RestoredPlace(Place):
    """A place in a segment without texts, which reads restored ones."""

    _texts: RestoredTexts

    @classmethod
    def of(cls, place: Place, texts: RestoredTexts) -> "RestoredPlace":
        """The same place, which reads restored texts."""
        return cls(place.segment, place.part, place.segment_units, texts)

    def text(self, span: CharSpan) -> str:
        """The restored text of the units that lie in these characters of the document."""
        return self._texts.read(self.segment, self._within(span)).text

    @property
    def confidence(self) -> float:
        """The confidence of the least certain token of the sentences that the span lies in."""
        return self._texts.read(self.segment, self.segment_units).confidence

    def around(self, before: int, after: int) -> tuple[str, int, int]:
        """The span with the characters ``before`` and ``after`` it in its sentences, and where it stands in them."""
        rows = rows_of(self.segment, self.segment_units)
        first, last = rows[0].units.start, rows[-1].units.end
        text, whole, left = (
            self._texts.read(self.segment, units).text
            for units in (self.segment_units, UnitSpan(first, last), UnitSpan(first, self.segment_units.start))
        )
        start = whole.find(text, len(left))
        start = start if start >= 0 else whole.find(text)  # a sentence on the left that is given whole
        begin, end = max(0, start - before), start + len(text)
        return whole[begin : end + after], start - begin, end - begin

    def _within(self, span: CharSpan) -> UnitSpan:
        first, last = self.segment.part_units[self.part : self.part + 2].tolist()
        spans = self.segment.unit_spans[first:last].astype(np.int64)
        start = first + int(np.searchsorted(spans[:, 0], span.start))
        return UnitSpan(start, max(start, first + int(np.searchsorted(spans[:, 1], span.end, side="right"))))


def rows_of(segment: Segment, units: UnitSpan) -> list[Row]:
    """The rows that hold these units of a segment."""
    starts = stored_restorable(segment).units
    if units.start >= units.end:
        return []
    # Pieces of one unit share their start: the first of those that hold the first unit.
    held = starts[int(np.searchsorted(starts, units.start, side="right")) - 1]
    numbers = range(int(np.searchsorted(starts, held)), int(np.searchsorted(starts, units.end)))
    return [Row(segment, number, _units(segment, starts, number)) for number in numbers]


def _units(segment: Segment, starts: np.ndarray, number: int) -> UnitSpan:
    start = int(starts[number])
    following = int(starts[number + 1]) if number + 1 < len(starts) else segment.manifest.units
    return UnitSpan(start, max(following, start + 1))


def _cut(row: Row, text: str, units: UnitSpan) -> str:
    """The part of a row's text that is of these units."""
    spans = split(text, row.segment.recipe.text)
    if len(spans) != len(row.units) or not len(spans):
        return text
    first = max(units.start, row.units.start) - row.units.start
    last = min(units.end, row.units.end) - row.units.start
    return text[int(spans[first, 0]) : int(spans[last - 1, 1])]


def _joined(pieces: Sequence[tuple[Row, str]]) -> str:
    """Texts of rows, with a space between those that had something between them."""

    joined, last = "", None
    for row, text in pieces:
        joined += (" " if last is not None and is_apart(last, row) else "") + text
        last = row
    return joined


def is_apart(row: Row, following: Row) -> bool:
    """False for pieces of one unit, and for units without a space between them, as in Chinese."""
    if row.units.end > following.units.start:
        return False
    spans = row.segment.unit_spans
    return bool(spans[row.units.end - 1, 1] < spans[following.units.start, 0])
