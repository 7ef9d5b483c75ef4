"""Rows of named columns, of whatever file: a document each, or the parts of one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import cast

from indexer.errors import InvalidDocument
from indexer.sources.documents import checked_id, checked_metadata, checked_size, checked_text, document_from_json
from indexer.sources.options import ReadOptions, names_of
from models.types import Document, JsonValue, Metadata, Part


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
    fields = plain(read())
    present = dict(fields)
    id = row_id if options.row_ids else _taken(present, options.id_column or "id")
    columns = names_of(options.text_column or "text", present)
    texts = [(name, checked_text(_taken(present, name, ""))) for name in columns]
    if not any(text for _, text in texts) and not fields.keys() & set(columns):
        named = f"its fields are {', '.join(fields)}" if fields else "it has none"
        raise InvalidDocument(f"it has no field {', '.join(columns)}; {named}: name the right one with --text-column")
    part = {}
    if options.part_column is not None and options.part_column in present:
        part = {options.part_column: present.pop(options.part_column)}
    own = _own_metadata(present)
    if options.metadata_columns is not None:
        present = {name: value for name, value in present.items() if name in options.metadata_columns}
    return NamedRow(checked_id(id), texts, part, {**own, **present})


def document_of(read: Callable[[], Mapping[str, object]], options: ReadOptions, row_id: str) -> Document:
    """The document of a row that has a text, or parts of its own."""
    own = plain(read())
    if isinstance(own.get("parts"), list) and options.text_column is None:
        id = row_id if options.row_ids else _taken(own, options.id_column or "id")
        parts, metadata = own.pop("parts"), _own_metadata(own)
        return document_from_json({"id": id, "parts": parts, "metadata": {**metadata, **own}})
    return row_of(lambda: own, options, row_id).document()


def _own_metadata(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    own = fields.pop("metadata", {})
    if not isinstance(own, dict):
        raise InvalidDocument("metadata must be a JSON object, which Parquet calls a struct")
    return own


def _taken(fields: dict[str, JsonValue], name: str, default: JsonValue = None) -> JsonValue:
    """The value of a field, or of the one that differs from it in case alone; it is removed."""
    similar = [other for other in fields if other.lower() == name.lower()]
    key = name if name in fields else similar[0] if len(similar) == 1 else name
    return fields.pop(key, default)


def plain(fields: Mapping[str, object]) -> dict[str, JsonValue]:
    """Values as JSON has them: moments as ISO 8601 writes them, decimals as they are written; without nulls.

    >>> plain({"day": date(2026, 1, 2), "price": Decimal("2.50"), "near": {"a": None, "b": [Decimal(3)]}})
    {'day': '2026-01-02', 'price': '2.50', 'near': {'b': [3]}}
    """
    return {name: _plain(value) for name, value in fields.items() if value is not None}


def _plain(value: object) -> JsonValue:
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else str(value)
    return value.isoformat() if isinstance(value, datetime | date | time) else cast("JsonValue", value)
