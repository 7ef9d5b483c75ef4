"""Excel workbooks, through openpyxl: sheets with a column of texts are tables, the others are read as they are."""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any, Final

from indexer.errors import InvalidDocument
from indexer.sources.compose import INSTALL, composed
from indexer.sources.nested import inside
from indexer.sources.number_formats import shown_number
from indexer.sources.options import ReadOptions, names_of
from indexer.sources.packages import MAX_READ, Package, tag
from indexer.sources.records import Found, Reading, refuse
from indexer.sources.tables import read_table
from indexer.sources.word.reader import drawn_texts
from models.types import Document, Part

_DEFAULT: Final = "text"
MAX_CELLS: Final = 10_000_000
# The cells that Excel allows a row: openpyxl reads rows of any length, and one of a million for minutes.
_MAX_COLUMNS: Final = 16_384
_ROW_END: Final = re.compile(rb"</(?:\w+:)?row>")
_CELL: Final = re.compile(rb"<(?:\w+:)?c[\s/>]")


def read_workbook(reading: Reading) -> Iterator[Found]:
    """A sheet whose first row names the column of texts is a table; all other sheets are one document.

    Of these a row is a part, with its sheet as ``section``. Hidden sheets are left out.
    """
    try:
        sheets = _sheets(reading)
        drawn = [*_drawn(reading)]
    except ImportError:
        yield 1, partial(refuse, INSTALL)
        return
    except Exception as error:  # noqa: BLE001 - a parser of untrusted files raises whatever its parts raise
        yield 1, partial(refuse, f"not an Excel workbook that can be read: {error}")
        return
    tables = {name: rows for name, rows in sheets.items() if rows and _has_texts(rows[0], reading.options)}
    for rows in tables.values():
        yield from read_table(_as_table(reading, rows))
    others = {name: rows for name, rows in sheets.items() if name not in tables}
    if any(others.values()) or drawn or not tables:
        yield 1, lambda: _document(reading, others, drawn)


def _has_texts(header: list[str], options: ReadOptions) -> bool:
    names = {cell.strip().lower() for cell in header}
    return all(name.lower() in names for name in names_of(options.text_column or _DEFAULT, header))


def _sheets(reading: Reading) -> dict[str, list[list[str]]]:
    """The rows of all sheets that are shown: of tables the values of cells, of others what the program shows."""
    from openpyxl import load_workbook

    data = reading.whole()
    _check_size(Package(data))
    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    hidden = [sheet.title for sheet in book.worksheets if sheet.sheet_state != "visible"]
    if hidden:
        reading.notice = f"hidden sheets are left out: {', '.join(hidden)}"
    left = MAX_CELLS
    sheets: dict[str, list[list[str]]] = {}
    for sheet in book.worksheets:
        rows = sheets.setdefault(sheet.title, []) if sheet.sheet_state == "visible" else []
        is_table = False
        for row in sheet.iter_rows() if sheet.sheet_state == "visible" else ():
            left -= len(row)
            if left < 0:
                raise InvalidDocument(f"it has more than {MAX_CELLS:,} cells")
            values = [_written(cell.value) for cell in row]
            is_table = is_table or (not rows and _has_texts(values, reading.options))
            rows.append(values if is_table else [*map(_shown, row)])
    return sheets


def _check_size(package: Package) -> None:
    """Raise ``InvalidDocument`` for what openpyxl would take too long to read."""
    if package.unpacked_size > MAX_READ:
        raise InvalidDocument(f"it unpacks to more than {MAX_READ:,} bytes")
    for name in package.names("xl/worksheets/"):
        rows = _ROW_END.split(package.read(name)) if name.endswith(".xml") else ()
        if any(len(row) > _MAX_COLUMNS and len(_CELL.findall(row)) > _MAX_COLUMNS for row in rows):
            raise InvalidDocument(f"a row has more than {_MAX_COLUMNS:,} cells")


def _shown(cell: Any) -> str:  # noqa: ANN401 - openpyxl has no types
    """A cell as the program shows it; dates and times as ISO 8601, since their order depends on the machine."""
    value = cell.value
    if isinstance(value, bool):
        return str(value).upper()
    number = shown_number(value, cell.number_format) if isinstance(value, int | float) else None
    return _written(value) if number is None else number


def _written(value: object) -> str:
    """A value as text.

    >>> [_written(value) for value in (None, 2.0, 0.1 + 0.2, True, date(2026, 1, 2), timedelta(hours=26))]
    ['', '2', '0.3', 'true', '2026-01-02', '26:00:00']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _drawn(reading: Reading) -> Iterator[Part]:
    """The texts of text boxes and charts, which lie beside the sheets; comments are counted."""
    with closing(reading.open_again()) as file:
        package = Package(file.read())
    for folder, kind in (("xl/drawings/drawing", "text box"), ("xl/charts/chart", "chart")):
        for name in package.names(folder):
            yield from (Part(text, {"kind": kind}) for text in drawn_texts(package.xml(name)))
    comments = sum(
        tag(each) == "x:comment" for name in package.names("xl/comments") for each in package.xml(name).iter()
    )
    if comments:
        reading.notice = "; ".join(filter(None, [reading.notice, f"{comments:,} comments are left out"]))


def _document(reading: Reading, sheets: dict[str, list[list[str]]], drawn: list[Part]) -> Document:
    parts = [
        Part("\t".join(cell for cell in row if cell), {"section": [name]})
        for name, rows in sheets.items()
        for row in rows
        if any(row)
    ]
    return composed(reading, [*parts, *drawn], {})


def _as_table(reading: Reading, rows: list[list[str]]) -> Reading:
    out = io.StringIO(newline="")
    width = len(rows[0])
    csv.writer(out).writerows((row + [""] * width)[:width] for row in rows if any(row))
    inner = inside(reading, reading.name, out.getvalue().encode())
    inner.depth = reading.depth
    inner.options = replace(reading.options, delimiter=",", encoding="utf-8", quote=None)
    return inner
