"""The tables of mining, and their forms: NDJSON as it is written, and CSV, XLSX and Parquet made of it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from app.tabular import Format, Kind, Row, check_workbooks, csv_pieces, in_json, parquet_pieces, xlsx_pieces
from models.atomic import rename, replacing
from models.interruption import checked

TableName: TypeAlias = Literal["hits", "counts", "copies"]
TABLES: Final[tuple[TableName, ...]] = get_args(TableName)

# Rows from one look for an interruption to the next.
_ROWS: Final = 5_000
_COLUMNS: Final[Mapping[TableName, Mapping[str, Kind]]] = {
    "hits": {
        "phrase": "string",
        "rank": "int64",
        "score": "float64",
        "raw": "float64",
        "document_id": "string",
        "start": "int64",
        "end": "int64",
        "text": "string",
        "match": "string",
        "polarity": "string",
        "context": "string",
        "metadata": "string",
        "part_metadata": "string",
    },
    "counts": {
        "phrase": "string",
        "key": "string",
        "value": "string",
        "hits": "int64",
        "documents": "int64",
        "complete": "bool",
    },
    "copies": {"phrase": "string", "copy_of": "string", "raw": "float64", "same_words": "bool"},
}
# The columns that hold JSON.
_JSON: Final = ("context", "metadata", "part_metadata")
_PIECES: Final[Mapping[Format, Callable[[Mapping[str, Kind], Iterable[Row]], Iterator[bytes]]]] = {
    "csv": csv_pieces,
    "xlsx": xlsx_pieces,
    "parquet": parquet_pieces,
}


def check_format(format: Format) -> None:
    """Raise ``InvalidInput`` for a form that needs a library which is not installed."""
    if format == "xlsx":
        check_workbooks()


def table_of(folder: Path, table: TableName, format: Format) -> Path:
    """The file of a table."""
    return folder / f"{table}.{format}"


def write_table(lines: Path, path: Path, table: TableName, format: Format) -> None:
    """Write a table to a new file, from lines of JSON; memory holds some thousand rows."""
    if format == "ndjson":
        rename(lines, path)
        return
    columns = _COLUMNS[table]
    with replacing(path) as partial, lines.open("rb") as file, partial.open("wb") as out:
        rows = checked(map(json.loads, file), every=_ROWS)
        out.writelines(_PIECES[format](columns, (_cells(row, columns) for row in rows)))


def _cells(row: Row, columns: Iterable[str]) -> dict[str, Any]:
    return {name: in_json(row.get(name)) if name in _JSON else row.get(name) for name in columns}
