"""Files of JSON: a document or a row a line, or an array of these, by itself or within an object."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO, Final

import ijson
import numpy as np

from indexer.errors import InvalidDocument, SourceUnreadable
from indexer.ndjson import InvalidLine, bounded_lines, parse_json, read_ndjson
from indexer.sources import records
from indexer.sources.documents import document_from_json
from indexer.sources.grouping import read_fields
from indexer.sources.options import names_of
from indexer.sources.records import Found, Reading
from models.types import Document

# Levels of an array's values: the parser keeps the path of each.
MAX_LEVELS: Final = 1000
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_LEVELS: Final = np.zeros(256, np.int8)
_LEVELS[list(b"[{")], _LEVELS[list(b"]}")] = 1, -1


def read_lines(reading: Reading) -> Iterator[Found]:
    """One JSON document, or row, per line; empty lines are skipped."""
    lines = bounded_lines(reading.file, records.MAX_RECORD)
    return _read(reading, read_ndjson(lines))


def read_array(reading: Reading) -> Iterator[Found]:
    """An array of JSON documents or rows, by itself or within an object, or a single document; records are numbered."""
    with reading.open_again() as file:
        first = file.read(2**16).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if first != b"{" and reading.options.records is not None:
        raise SourceUnreadable("it is no object with records in a field", hint="Leave --records out.")
    field = _field_of_records(reading) if first == b"{" else ""
    if field is None:
        values: Iterable[object] = [parse_json(reading.whole().removeprefix(b"\xef\xbb\xbf"))]
    else:
        values = ijson.items(Bounded(reading.file), f"{field}.item" if field else "item", use_float=True)
    yield from _read(reading, enumerate(values, 1))


def _read(reading: Reading, values: Iterable[tuple[int, object]]) -> Iterator[Found]:
    """The documents of our own form; rows, if options name their columns."""
    if not reading.options.names_columns:
        return ((number, partial(document_from_value, value)) for number, value in values)
    return read_fields(reading, ((number, partial(_object, value)) for number, value in values))


def _field_of_records(reading: Reading) -> str | None:
    """The field of an object that holds an array of records; None for a document."""
    with reading.open_again() as file:
        fields = [*_fields(ijson.parse(Bounded(file)))]
    found = [name for name, holds_records in fields if holds_records]
    chosen = reading.options.records
    if chosen is not None and chosen not in found:
        raise SourceUnreadable(f"it has no records under {chosen}; it has some under {', '.join(found) or 'no field'}")
    names = {name for name, _ in fields}
    of_documents = {"text", "parts", *names_of(reading.options.text_column or "text", names)}
    if chosen is None and (not found or of_documents & names):
        return None
    if chosen is None and len(found) > 1:
        raise SourceUnreadable(
            f"it holds records under {' and '.join(found)}", hint=f"Choose one: --records {found[0]}."
        )
    reading.conclude(f"records from {chosen or found[0]}")
    return chosen or found[0]


def _fields(events: Iterator[tuple[str, str, object]]) -> Iterator[tuple[str, bool]]:
    """The fields of an object, and whether they hold an array that begins with an object."""
    for prefix, event, value in events:
        if not prefix and event == "map_key":
            _, kind, _ = next(events)
            yield str(value), kind == "start_array" and next(events)[1] == "start_map"


class Bounded:
    """A file without its byte order mark, which the parser of arrays does not know. It may not be nested too deeply."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._head = self._file.read(3).removeprefix(b"\xef\xbb\xbf")
        self._level = 0
        self._string = b""  # how a string begins that the last piece did not end

    def read(self, size: int = -1) -> bytes:
        """The next bytes. Raises ``SourceUnreadable`` where values lie in each other at too many levels."""
        if size == 0:  # the parser asks what type the file gives
            return b""
        head, self._head = self._head, b""
        data = head or self._file.read(size)
        outside, quote, string = _STRING.sub(b"", self._string + data).partition(b'"')
        is_escaped = (len(string) - len(string.rstrip(b"\\"))) % 2 == 1
        self._string = quote + b"\\" * is_escaped
        levels = self._level + np.cumsum(_LEVELS[np.frombuffer(outside, np.uint8)], dtype=np.int64)
        if len(levels):
            self._level = int(levels[-1])
            if levels.max() > MAX_LEVELS:
                raise SourceUnreadable("it is nested too deeply")
        return data


def _object(value: object) -> dict[str, object]:
    """A row. Raises ``InvalidDocument`` for what is none."""
    if isinstance(value, InvalidLine):
        raise InvalidDocument(value.reason)
    if not isinstance(value, dict):
        raise InvalidDocument("a row must be a JSON object")
    return value


def document_from_value(value: object) -> Document:
    """The document of a parsed line."""
    if isinstance(value, InvalidLine):
        raise InvalidDocument(value.reason)
    return document_from_json(value)
