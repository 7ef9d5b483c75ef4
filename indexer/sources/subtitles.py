"""WebVTT and SubRip: a turn is a part, with its times and its speaker as metadata."""

from collections.abc import Iterator
from typing import Final

from indexer.errors import InvalidDocument
from indexer.sources.cue_text import cue_runs
from indexer.sources.cues import CueFile, read_cues
from indexer.sources.documents import MAX_PARTS, checked_id, checked_size, checked_text
from indexer.sources.plain import text_of
from indexer.sources.records import Found, Reading, refuse
from indexer.sources.turns import turns, without_repeats
from models.types import Document, Part

# A cue a second for more than a day.
_MAX_CUES: Final = 100_000


def read_subtitles(reading: Reading) -> Iterator[Found]:
    """A file is one document: a part a turn, ``start`` and ``end`` in seconds, ``speaker`` where one is named.

    Text that belongs to no cue is reported, each block with its line.
    """
    broken: list[int] = []
    yield 1, lambda: _document(reading, broken)
    for line in broken:
        yield line, lambda: refuse("text without a line of two time codes and --> before it is left out")


def _document(reading: Reading, broken: list[int]) -> Document:
    is_vtt = reading.document_id.lower().endswith(".vtt")
    text = text_of(reading)
    if text.count("-->") > _MAX_CUES:
        raise InvalidDocument(f"the file has more than {_MAX_CUES:,} cues")
    file = read_cues(text, is_vtt=is_vtt)
    parts = _parts(file, is_vtt=is_vtt)
    if not parts:
        raise InvalidDocument("the file holds no cue with text: no line with two time codes and -->")
    if len(parts) > MAX_PARTS:
        raise InvalidDocument(f"the file has {len(parts):,} turns; at most {MAX_PARTS:,} are allowed")
    broken += file.broken
    if file.continued:
        blocks = (
            "1 block of text after an empty line is"
            if file.continued == 1
            else (f"{file.continued:,} blocks of text after empty lines are")
        )
        reading.conclude(f"{blocks} read as text of the cue before it")
    return checked_size(Document(checked_id(reading.document_id), parts))


def _parts(file: CueFile, *, is_vtt: bool) -> tuple[Part, ...]:
    runs = without_repeats(cue_runs([cue.lines for cue in file.cues], is_vtt=is_vtt))
    parts = turns(file.cues, runs)
    for part in parts:
        checked_text(part.text)
    return tuple(parts)
