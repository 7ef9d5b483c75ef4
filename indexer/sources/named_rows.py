"""Rows of named columns, of whatever file: a document each, or the parts of one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import TypeVar

from indexer.errors import InvalidDocument
from indexer.sources.documents import checked_id, checked_metadata, checked_size, checked_text, document_from_json
from indexer.sources.options import ReadOptions, names_of
from models.types import Document, JsonValue, Metadata, Part

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class NamedRow:
    """The id of a row, its texts with their columns, the number of its part, if any, and its other values.

    >>> row = NamedRow("7", [("title", "Late"), ("body", "Where is it?")], {}, {"team": "A"})
    >>> [part.metadata for part in row.document().parts]
    [{'column': 'title'}, {'column': 'body'}]
    """

    id: str
    texts: Sequence[tuple[str, str]]
    part: Mapping[str, JsonValue]
    metadata: Mapping[str, JsonValue]

    def document(self) -> Document:
        """The document of a row."""
        return checked_size(Document(self.id, self.parts({}), checked_metadata(self.metadata)))

    def parts(self, metadata: Metadata) -> tuple[Part, ...]:
        """A part of every text that is not empty, with its column if there are several."""
        filled = [(column, text) for column, text in self.texts if text]
        if len(self.texts) == 1 or not filled:
            return (Part(self.texts[0][1], metadata),)
        return tuple(Part(text, {"column": column, **metadata}) for column, text in filled)

    @property
    def rank(self) -> float | None:
        """The number of its part, if parts are numbered."""
        value = next(iter(self.part.values()), None)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def row_of(read: Callable[[], Mapping[str, object]], options: ReadOptions, row_id: str) -> NamedRow:
    """A row of JSON or Parquet, by the options for columns, without nulls.

    >>> row_of(lambda: {"n": 7, "body": "Late.", "team": None}, ReadOptions("n", "body"), "").document().id
    '7'
    """
    fields = read()
    present = dict(fields)
    id_column = options.id_column or "id"
    id = row_id if options.row_ids else _plain(_taken(present, id_column), id_column)
    columns = names_of(options.text_column or "text", present)
    texts = [(name, _text(_taken(present, name), name)) for name in columns]
    if not {name.lower() for name in fields} & {name.lower() for name in columns}:
        named = f"its fields are {', '.join(fields)}" if fields else "it has none"
        raise InvalidDocument(f"it has no field {', '.join(columns)}; {named}: name the right one with --text-column")
    others = plain(present)
    part = {}
    if options.part_column is not None and options.part_column in others:
        part = {options.part_column: others.pop(options.part_column)}
    own = _own_metadata(others)
    if options.metadata_columns is not None:
        others = {name: value for name, value in others.items() if name in options.metadata_columns}
    return NamedRow(checked_id(id), texts, part, {**own, **others})


def document_of(read: Callable[[], Mapping[str, object]], options: ReadOptions, row_id: str) -> Document:
    """The document of a row that has a text, or parts of its own."""
    fields = read()
    if isinstance(fields.get("parts"), list) and options.text_column is None:
        own = plain(fields)
        id = row_id if options.row_ids else _taken(own, options.id_column or "id")
        parts, metadata = own.pop("parts"), _own_metadata(own)
        return document_from_json({"id": id, "parts": parts, "metadata": {**metadata, **own}})
    return row_of(lambda: fields, options, row_id).document()


def _own_metadata(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    own = fields.pop("metadata", {})
    if not isinstance(own, dict):
        raise InvalidDocument("metadata must be a JSON object, which Parquet calls a struct")
    return own


def _taken(fields: dict[str, _Value], name: str) -> _Value | None:
    """The value of a field, or of the one that differs from it in case alone; it is removed."""
    similar = [other for other in fields if other.lower() == name.lower()]
    key = name if name in fields else similar[0] if len(similar) == 1 else name
    return fields.pop(key, None)


def _text(value: object, column: str) -> str:
    """A text of a column; a null is an empty one."""
    text = _plain(value, column)
    if isinstance(value, bytes) and text is None:
        raise InvalidDocument(f"column {column} holds bytes that are not valid UTF-8")
    if text is not None and not isinstance(text, str):
        raise InvalidDocument(f"text must be a string, and column {column} holds another value")
    return checked_text(text or "")


def plain(fields: Mapping[str, object]) -> dict[str, JsonValue]:
    """Values as JSON has them: moments as ISO 8601 writes them, decimals as they are written; without nulls.

    What JSON has no number for is null, and so are bytes that are no text. Raises ``InvalidDocument`` for other types.

    >>> plain({"day": date(2026, 1, 2), "price": Decimal("2.50"), "near": {"a": float("nan"), "b": [Decimal(3)]}})
    {'day': '2026-01-02', 'price': '2.50', 'near': {'b': [3]}}
    """
    values = {name: _plain(value, name) for name, value in fields.items()}
    return {name: value for name, value in values.items() if value is not None}


def _plain(value: object, column: str) -> JsonValue:
    match value:
        case None | str() | int():
            plain_value: JsonValue = value
        case float():
            plain_value = value if isfinite(value) else None
        case Mapping():
            plain_value = plain(value)
        case list() | tuple():
            plain_value = [_plain(inner, column) for inner in value]
        case Decimal():
            plain_value = int(value) if value.as_tuple().exponent == 0 else str(value)
        case datetime() | date() | time():
            plain_value = value.isoformat()
        case timedelta():
            plain_value = clock_time(value)
        case bytes():
            plain_value = _decoded(value)
        case _:
            raise InvalidDocument(f"column {column} holds a value that JSON has no form for: {type(value).__name__}")
    return plain_value


def _decoded(value: bytes) -> str | None:
    """The text of bytes; None for bytes of another kind, such as a picture."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def clock_time(duration: timedelta) -> str:
    """A duration in hours, minutes and seconds.

    >>> clock_time(timedelta(days=1, hours=2)), clock_time(timedelta(seconds=-1.5))
    ('26:00:00', '-0:00:01.500000')
    """
    seconds, rest = divmod(abs(duration), timedelta(seconds=1))
    sign = "-" if duration < timedelta() else ""
    fraction = f".{rest.microseconds:06}" if rest else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"
