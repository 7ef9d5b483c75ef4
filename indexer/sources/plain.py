"""Files that are one document of plain text."""

from collections.abc import Iterator

from indexer.sources.documents import checked_id, checked_text
from indexer.sources.encodings import decoded, given_encoding
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
        return data.decode(given_encoding(reading.options.encoding).codec)
    text, encoding = decoded(data)
    if encoding.codec != "utf-8-sig":
        reading.conclude(f"encoding {encoding}")
    elif b"\xef\xbf\xbd" not in data and "\ufffd" in text:
        reading.conclude(f"{text.count(chr(0xFFFD)):,} places are not valid UTF-8 and are read as \ufffd")
    return text
