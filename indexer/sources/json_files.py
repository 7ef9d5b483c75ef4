"""Files of JSON: a document or a row a line, or an array of these, by itself or within an object."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Final

from indexer.errors import InvalidDocument, SourceUnreadable
from indexer.ndjson import InvalidLine, bounded_lines, parse_json, read_ndjson
from indexer.sources import records
from indexer.sources.documents import document_from_json
from indexer.sources.grouping import read_fields
from indexer.sources.json_outline import Piece, outline
from indexer.sources.options import names_of
from indexer.sources.recoded import in_utf8
from indexer.sources.records import Found, Reading
from models.types import Document

_MARK: Final = b"\xef\xbb\xbf"


def read_lines(reading: Reading) -> Iterator[Found]:
    """One JSON document, or row, per line; empty lines are skipped."""
    in_utf8(reading)
    return _read_lines(reading)


def read_array(reading: Reading) -> Iterator[Found]:
    """An array of JSON documents or rows, by itself or within an object, or a single document; records are numbered.

    A file that holds an object a line is read by its lines.
    """
    in_utf8(reading)
    with reading.open_again() as file:
        is_object = file.read(2**16).removeprefix(_MARK).lstrip().startswith(b"{")
    is_by_lines = is_object and _is_by_lines(reading)
    if reading.options.records is not None and (is_by_lines or not is_object):
        raise SourceUnreadable("it is no object with records in a field", hint="Leave --records out.")
    if is_by_lines:
        reading.conclude("one record a line")
        yield from _read_lines(reading)
    else:
        yield from _read(reading, enumerate(_values(reading, _field_of_records(reading) if is_object else ""), 1))


def _read_lines(reading: Reading) -> Iterator[Found]:
    return _read(reading, read_ndjson(bounded_lines(reading.file, records.MAX_RECORD)))


def _read(reading: Reading, values: Iterable[tuple[int, object]]) -> Iterator[Found]:
    """The documents of our own form; rows, if options name their columns."""
    if not reading.options.names_columns:
        return ((number, partial(document_from_value, value)) for number, value in values)
    return read_fields(reading, ((number, partial(_object, value)) for number, value in values))


def _is_by_lines(reading: Reading) -> bool:
    """True if a line with a whole object is followed by another object, without the comma that one value would need."""
    with reading.open_again() as file:
        lines = (line for line in bounded_lines(file, records.MAX_RECORD) if isinstance(line, bytes) and line.strip())
        first, second = ([line.removeprefix(_MARK).strip() for line in islice(lines, 2)] + [b"", b""])[:2]
    return first.startswith(b"{") and first.endswith(b"}") and second.startswith(b"{")


def _values(reading: Reading, field: str | None) -> Iterator[object]:
    """The values of an array, which is the file or in one of its fields; without a field the file is the value."""
    if field is None:
        yield parse_json(reading.whole().removeprefix(_MARK))
        return
    depth, name = (2, "") if field else (1, "")
    for piece in outline(reading.file, depth):
        if field and _names_field(piece):
            name = _name(piece)
        elif piece.level == depth and name == field and piece.text.strip():
            value = _value(piece.text)
            if piece.sign or not isinstance(value, InvalidLine):
                yield value


def _value(text: bytes) -> object:
    """A parsed value, or why it is none."""
    if len(text) > records.MAX_RECORD:
        return InvalidLine(f"the record has more than {records.MAX_RECORD:,} bytes")
    return parse_json(text)


def _names_field(piece: Piece) -> bool:
    """True for the name of a field of the outermost object."""
    return piece.level == 1 and piece.sign == b":"


def _name(piece: Piece) -> str:
    return str(parse_json(piece.text))


def _field_of_records(reading: Reading) -> str | None:
    """The field of an object that holds an array of records; None for a document."""
    with reading.open_again() as file:
        fields = [*_fields(outline(file, 2))]
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


def _fields(pieces: Iterator[Piece]) -> Iterator[tuple[str, bool]]:
    """The fields of an object, and whether they hold an array that begins with an object."""
    for piece in pieces:
        if _names_field(piece):
            is_array = next(pieces).sign == b"["
            yield _name(piece), is_array and next(pieces).text.lstrip().startswith(b"{")


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
