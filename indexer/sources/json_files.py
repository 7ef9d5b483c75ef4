"""Files of JSON: a document a line, or an array of documents."""

from collections.abc import Iterator
from functools import partial

import ijson

from indexer.errors import InvalidDocument
from indexer.ndjson import InvalidLine, bounded_lines, parse_json, read_ndjson
from indexer.sources import records
from indexer.sources.documents import document_from_json
from indexer.sources.records import Found, Reading
from models.types import Document


def read_lines(reading: Reading) -> Iterator[Found]:
    """One JSON document per line; empty lines are skipped."""
    for number, value in read_ndjson(bounded_lines(reading.file, records.MAX_RECORD)):
        yield number, partial(document_from_value, value)


def read_array(reading: Reading) -> Iterator[Found]:
    """An array of JSON documents, or a single one; records are numbered."""
    with reading.open_again() as file:
        first = file.read(2**16).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if first == b"{":
        yield 1, lambda: document_from_value(parse_json(reading.whole().removeprefix(b"\xef\xbb\xbf")))
        return
    for number, value in enumerate(ijson.items(_WithoutMark(reading), "item", use_float=True), 1):
        yield number, partial(document_from_json, value)


class _WithoutMark:
    """A file without its byte order mark, which the parser of arrays does not know."""

    def __init__(self, reading: Reading) -> None:
        self._file = reading.file
        self._head = self._file.read(3).removeprefix(b"\xef\xbb\xbf")

    def read(self, size: int = -1) -> bytes:
        if size == 0:  # the parser asks what type the file gives
            return b""
        head, self._head = self._head, b""
        return head or self._file.read(size)


def document_from_value(value: object) -> Document:
    """The document of a parsed line."""
    if isinstance(value, InvalidLine):
        raise InvalidDocument(value.reason)
    return document_from_json(value)
