"""Hits in the formats of exports."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from app.answers import to_json
from app.search.answers import ExportEnd
from app.search.types import Hit
from app.tabular import MEDIA_TYPES, ExportFormat, Format, Kind, csv_pieces, in_json, parquet_pieces, xlsx_pieces

Items: TypeAlias = Iterator[Hit | ExportEnd]

# Mappings, which hold JSON, come last.
_COLUMNS: Final[Mapping[str, Kind]] = {
    "rank": "int64",
    "score": "float64",
    "raw": "float64",
    "document_id": "string",
    "start": "int64",
    "end": "int64",
    "text": "string",
    "match": "string",
    "polarity": "string",
    "copies": "int64",
    "probability": "float64",
    "verdict": "string",
    "metadata": "string",
    "part_metadata": "string",
}
_MAPPINGS: Final = ("metadata", "part_metadata")


def ndjson(items: Items) -> Iterator[bytes]:
    """Each hit as a line of JSON, and last the end."""
    for item in items:
        yield to_json(item) + b"\n"


def table(items: Items) -> Iterator[bytes]:
    """Hits as rows of CSV."""
    return csv_pieces(tuple(_COLUMNS), _rows(items, []))


def workbook(items: Items) -> Iterator[bytes]:
    """Hits as a workbook of Excel."""
    return xlsx_pieces(tuple(_COLUMNS), _rows(items, []))


def parquet(items: Items) -> Iterator[bytes]:
    """Hits as a Parquet file, whose metadata has the end."""
    ends: list[ExportEnd] = []
    return parquet_pieces(_COLUMNS, _rows(items, ends), lambda: to_json(ends[0]) if ends else None)


FORMATS: Final[dict[Format, ExportFormat[Hit | ExportEnd]]] = {
    "ndjson": ExportFormat(MEDIA_TYPES["ndjson"], ndjson),
    "csv": ExportFormat(MEDIA_TYPES["csv"], table),
    "xlsx": ExportFormat(MEDIA_TYPES["xlsx"], workbook),
    "parquet": ExportFormat(MEDIA_TYPES["parquet"], parquet),
}


def _rows(items: Iterable[Hit | ExportEnd], ends: list[ExportEnd]) -> Iterator[dict[str, Any]]:
    """The hits as rows; the end is added to ``ends``."""
    for item in items:
        if isinstance(item, ExportEnd):
            ends.append(item)
        else:
            row = {name: getattr(item, name) for name in _COLUMNS}
            yield row | {name: in_json(None if row[name] is None else dict(row[name])) for name in _MAPPINGS}
