"""Exports as bytes: rows as CSV and Parquet, made while they are read, and as workbooks, for HTTP and for files."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from tempfile import TemporaryFile
from typing import IO, Any, Final, Generic, Literal, TypeAlias, TypeVar

from models.errors import InvalidInput

Format = Literal["ndjson", "csv", "xlsx", "parquet"]
Kind = Literal["string", "int64", "float64", "bool"]
Row: TypeAlias = Mapping[str, Any]
Item = TypeVar("Item")

MEDIA_TYPES: Final[Mapping[Format, str]] = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}
# A row group of Parquet, which is in memory at once, ends at so many rows or characters.
_ROWS: Final = 10_000
_CHARACTERS: Final = 2**24
# The rows of a sheet of a workbook, but for its header, and the bytes of a piece of its file.
_SHEET: Final = 1_048_575
_PIECE: Final = 2**18


@dataclass(frozen=True, slots=True)
class ExportFormat(Generic[Item]):
    """A format of exports: its media type, and how items are written."""

    media_type: str
    pieces: Callable[[Iterator[Item]], Iterator[bytes]]


def in_json(value: object) -> str | None:
    """A value as a cell that holds JSON; None stays empty.

    >>> in_json({"name": "Zoë"}), in_json(None)
    ('{"name": "Zoë"}', None)
    """
    return None if value is None else json.dumps(value, ensure_ascii=False)


def csv_pieces(columns: Collection[str], rows: Iterable[Row]) -> Iterator[bytes]:
    r"""Rows of CSV below a header. A mark at the beginning tells spreadsheets that it is UTF-8.

    >>> b"".join(csv_pieces(["id", "n"], [{"id": "a", "n": 1}, {"id": "b", "n": None}])).decode("utf-8-sig")
    'id,n\r\na,1\r\nb,\r\n'
    """
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow(columns)
    yield "\ufeff".encode() + _taken(lines)
    for row in rows:
        writer.writerow(["" if row[name] is None else row[name] for name in columns])
        yield _taken(lines)


def parquet_pieces(
    columns: Mapping[str, Kind], rows: Iterable[Row], note: Callable[[], bytes | None] = lambda: None
) -> Iterator[bytes]:
    """Rows as a Parquet file, in groups of rows. What ``note`` says at the end is its metadata ``spanseek``."""
    import pyarrow as pa  # takes as long to import as a short search
    from pyarrow.parquet import ParquetWriter

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
    sink = _Sink()
    with ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in _groups(rows):
            writer.write_table(pa.Table.from_pylist(group, schema))
            yield sink.taken()
        said = note()
        if said is not None:
            writer.add_key_value_metadata({"spanseek": said})
    yield sink.taken()


def check_workbooks() -> None:
    """Raise ``InvalidInput`` where the library that writes workbooks is not installed."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise InvalidInput(
            "Excel workbooks are written by openpyxl, which is not installed.",
            hint="Install the extra `files`, or choose csv or parquet.",
            field="format",
        ) from error


def xlsx_pieces(columns: Collection[str], rows: Iterable[Row]) -> Iterator[bytes]:
    """Rows as a workbook of Excel, which is whole before its first piece. Raises ``InvalidInput`` without openpyxl."""
    check_workbooks()
    return _workbook_pieces(columns, rows)


def _workbook_pieces(columns: Collection[str], rows: Iterable[Row]) -> Iterator[bytes]:
    with TemporaryFile() as file:
        _write_workbook(file, columns, ([row[name] for name in columns] for row in rows))
        file.seek(0)
        while piece := file.read(_PIECE):
            yield piece


def _write_workbook(file: IO[bytes], columns: Collection[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows of cells below a header, into as many sheets as they need; memory holds one row."""
    from openpyxl import Workbook

    workbook = Workbook(write_only=True)
    with closing(workbook):
        sheet: Any = None
        left = 0
        for row in chain([None], rows):
            if not left:
                sheet, left = workbook.create_sheet(), _SHEET
                sheet.append(list(columns))
            if row is not None:
                sheet.append([_cell(sheet, value) for value in row])
                left -= 1
        workbook.save(file)


def _cell(sheet: Any, value: object) -> object:  # noqa: ANN401
    """A value as a cell: a text that begins like a formula stays a text."""
    if not isinstance(value, str):
        return value
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    cell = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", value))
    cell.data_type = "s"
    return cell


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    characters = 0
    for row in rows:
        group.append(row)
        characters += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(group) >= _ROWS or characters >= _CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _taken(lines: io.StringIO) -> bytes:
    """The bytes that were written since the last call."""
    written = lines.getvalue().encode()
    lines.seek(0)
    lines.truncate()
    return written


class _Sink(io.RawIOBase):
    """A file of which the written bytes are taken away, piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._length

    def write(self, data: Any) -> int:  # noqa: ANN401  # any buffer
        piece = bytes(data)
        self._pieces.append(piece)
        self._length += len(piece)
        return len(piece)

    def taken(self) -> bytes:
        """The bytes that were written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
