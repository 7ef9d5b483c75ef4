"""Files that are one document of plain text."""

from collections.abc import Iterator

from indexer.sources.documents import MAX_PARTS, checked_id, checked_text, within
from indexer.sources.encodings import decoded, errors_of, given_encoding
from indexer.sources.records import Reading, one_document
from models.text.wrapping import line_breaks
from models.types import Document, Part


@one_document
def read_text(reading: Reading) -> Document:
    """The file is one document, a paragraph or a turn a part; its id is the path below the folder, without ``.gz``."""
    parts = [Part(piece) for piece in paragraphs(checked_text(text_of(reading)))]
    return Document(checked_id(reading.document_id), tuple(within(parts, MAX_PARTS)))


def paragraphs(text: str) -> Iterator[str]:
    r"""The paragraphs and turns of a text, which are the text itself with a line break between them.

    >>> list(paragraphs("I want to\ncancel.\n\nAgent: Why?\nCaller: It is\nslow.\n"))
    ['I want to\ncancel.\n', 'Agent: Why?', 'Caller: It is\nslow.\n']
    """
    start = 0
    for each in line_breaks(text):
        at = text.rfind("\n", each.start, each.end)
        if each.kind == "part" and start < each.start and at >= 0 and each.end < len(text):
            yield text[start:at]
            start = at + 1
    yield text[start:]


def text_of(reading: Reading) -> str:
    """The text of a file. Raises ``InvalidDocument`` if it is too long."""
    data = reading.whole()
    if reading.options.encoding is not None:
        codec = given_encoding(reading.options.encoding).codec
        return data.decode(codec, errors_of(codec))
    text, encoding = decoded(data)
    if encoding.codec != "utf-8-sig":
        reading.conclude(f"encoding {encoding}")
    elif b"\xef\xbf\xbd" not in data:
        reading.note(text.count("\ufffd"), "places are not valid UTF-8 and are read as \ufffd")
    return text
