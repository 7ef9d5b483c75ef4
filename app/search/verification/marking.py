"""The marked units of a judged hit: those that its verdict rests on, fitted to the clause."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from app.requests import SearchRequest, SpanChoice
from app.search.mode import AnyMode
from indexer.engine.place import Place
from indexer.engine.rows import SpanRow
from indexer.engine.snapshot import Snapshot
from indexer.words.literal import EXACT
from models.text.borders import end_strengths, start_strengths
from models.types import UnitSpan
from models.verifier.rules.marking import AROUND, UnitsAround
from models.verifier.rules.polarity import is_english

# Characters before and behind a span, in its part, by which a language is known where its sentence does not tell.
_LANGUAGE: Final = 200


def marked_places(
    request: SearchRequest, mode: AnyMode, snapshot: Snapshot, rows: Sequence[SpanRow], judged: Sequence[SpanRow]
) -> list[Place | None]:
    """The places that are shown of rows of judged results; None for those shown as they were found.

    These are whole sentences and documents, occurrences of the phrase's own words, and spans whose form was asked for.
    No marked span takes in another judged result, nor words between them that both might.
    """
    if not mode.presented.is_on_scale or request.spans != SpanChoice():
        return [None] * len(rows)
    return [None if row.cosine >= EXACT else _marked(snapshot, row, judged) for row in rows]


def _marked(snapshot: Snapshot, row: SpanRow, others: Sequence[SpanRow]) -> Place | None:
    place = snapshot.scored(row).place
    segment = place.segment
    first, last = segment.part_units[place.part :][:2].tolist()
    near = [other for other in others if other.segment == row.segment and other != row]
    start = max([first, row.start - AROUND, *(other.end for other in near if other.end <= row.start)])
    end = min([last, row.end + AROUND, *(other.start for other in near if other.start >= row.end)])
    spans = segment.unit_spans[start:end].tolist()
    if not segment.has_borders or not spans:
        return None
    text, offset = place.text(place.segment.char_span(UnitSpan(start, end))), spans[0][0]
    if not _is_english(place):
        return None
    codes = segment.borders[start : min(end + 1, len(segment.borders))]
    ends = [*(end_strengths(codes) > 0).tolist(), True][: end - start + 1]
    ends[-1] = ends[-1] or end == last
    units = UnitsAround(
        [text[a - offset : b - offset] for a, b in spans],
        (start_strengths(codes) > 0).tolist()[: end - start],
        ends,
        [False, *(a == b for (_, b), (a, _) in pairwise(spans))],
    )
    begin, stop = units.fitted(row.start - start, row.end - start)
    return Place.at(segment, UnitSpan(start + begin, start + stop))


def _is_english(place: Place) -> bool:
    """True if a span's sentence, or what is around it in its part, is English."""
    metadata = {**place.metadata(), **place.part_metadata()}
    around, _, _ = place.around(_LANGUAGE, _LANGUAGE)
    return is_english(place.text(place.sentence()), metadata) or is_english(around, metadata)
