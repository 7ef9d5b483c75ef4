"""Files that are one document of plain text."""

from collections.abc import Iterator

from indexer.sources.documents import checked_id, checked_text
from indexer.sources.encodings import decoded
from indexer.sources.records import Found, Reading
from models.types import Document, Part


def read_text(reading: Reading) -> Iterator[Found]:
    """The whole file is one document; its id is the file's path below the folder, without ``.gz``."""
    yield 1, lambda: _document(reading)


def _document(reading: Reading) -> Document:
    return Document(checked_id(reading.document_id), (Part(checked_text(text_of(reading))),))


def text_of(reading: Reading) -> str:
    """The text of a file. Raises ``InvalidDocument`` if it is too long."""
    data = reading.whole()
    if reading.options.encoding is not None:
        return data.decode(reading.options.encoding)
    text, encoding = decoded(data)
    if encoding != "utf-8-sig":
        reading.notice = f"encoding {encoding}"
    return text
