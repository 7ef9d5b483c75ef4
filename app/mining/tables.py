"""The tables of mining, and their forms: NDJSON as it is written, and CSV, XLSX and Parquet made of it."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from app.requests import MinedFormat
from app.tabular import check_workbooks, write_workbook
from models.atomic import rename, replacing
from models.interruption import checked

TableName: TypeAlias = Literal["hits", "counts", "copies"]
TABLES: Final[tuple[TableName, ...]] = get_args(TableName)

# Rows in memory at once.
_ROWS: Final = 5_000

Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name and the type of its values; ``json`` is any value, spelt in JSON."""

    name: str
    kind: Literal["string", "int64", "float64", "bool", "json"]

    def of(self, row: Row) -> object:
        """The value of a row, as a cell."""
        value = row.get(self.name)
        return json.dumps(value, ensure_ascii=False) if self.kind == "json" and value is not None else value


def _columns(kinds: str) -> tuple[Column, ...]:
    return tuple(Column(*each.split(":")) for each in kinds.split())  # type: ignore[arg-type]


COLUMNS: Final[Mapping[TableName, tuple[Column, ...]]] = {
    "hits": _columns(
        "phrase:string rank:int64 score:float64 raw:float64 document_id:string start:int64 end:int64 text:string "
        "match:string polarity:string context:json metadata:json part_metadata:json"
    ),
    "counts": _columns("phrase:string key:string value:string hits:int64 documents:int64 complete:bool"),
    "copies": _columns("phrase:string copy_of:string raw:float64 same_words:bool"),
}


def check_format(format: MinedFormat) -> None:
    """Raise ``InvalidInput`` for a form that needs a library which is not installed."""
    if format == "xlsx":
        check_workbooks()


def table_of(folder: Path, table: TableName, format: MinedFormat) -> Path:
    """The file of a table."""
    return folder / f"{table}.{format}"


def write_table(lines: Path, path: Path, table: TableName, format: MinedFormat) -> None:
    """Write a table to a new file, from lines of JSON; memory holds some thousand rows."""
    if format == "ndjson":
        rename(lines, path)
        return
    write: Callable[[Path, tuple[Column, ...], Iterator[Row]], None] = _WRITERS[format]
    with replacing(path) as partial, lines.open("rb") as file:
        write(partial, COLUMNS[table], checked(map(json.loads, file), every=_ROWS))


def _write_csv(path: Path, columns: tuple[Column, ...], rows: Iterator[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("\ufeff")  # by which spreadsheets know UTF-8
        table = csv.writer(file)
        table.writerow(column.name for column in columns)
        table.writerows([column.of(row) for column in columns] for row in rows)


def _write_xlsx(path: Path, columns: tuple[Column, ...], rows: Iterator[Row]) -> None:
    names = [column.name for column in columns]
    write_workbook(path, names, ([column.of(row) for column in columns] for row in rows))


def _write_parquet(path: Path, columns: tuple[Column, ...], rows: Iterator[Row]) -> None:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    kinds = [pyarrow.type_for_alias("string" if column.kind == "json" else column.kind) for column in columns]
    schema = pyarrow.schema([(column.name, kind) for column, kind in zip(columns, kinds, strict=True)])
    with ParquetWriter(path, schema, compression="zstd") as writer:
        while some := list(islice(rows, _ROWS)):
            arrays = [
                pyarrow.array([column.of(row) for row in some], kind)
                for column, kind in zip(columns, kinds, strict=True)
            ]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))


_WRITERS: Final = {"csv": _write_csv, "xlsx": _write_xlsx, "parquet": _write_parquet}
