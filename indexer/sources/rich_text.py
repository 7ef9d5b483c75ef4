"""Rich text (``.rtf``), through striprtf."""

from collections.abc import Iterator

from indexer.errors import InvalidDocument
from indexer.sources.compose import composed, guarded_parser
from indexer.sources.records import Found, Reading
from models.types import Document, Part


def read_rich_text(reading: Reading) -> Iterator[Found]:
    """A file is one document: a part a paragraph, or a row of a table."""
    yield 1, lambda: _document(reading)


@guarded_parser("rich text")
def _document(reading: Reading) -> Document:
    from striprtf.striprtf import rtf_to_text

    data = reading.whole()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise InvalidDocument("not rich text: it does not begin with {\\rtf")
    objects = data.count(b"\\objdata")
    if objects:
        reading.lost.append(f"{objects:,} embedded object{'s' * (objects > 1)}")
    text = rtf_to_text(data.decode("latin-1"), encoding="cp1252", errors="replace")
    return composed(reading, [Part(line.strip()) for line in text.split("\n") if line.strip()], {})
