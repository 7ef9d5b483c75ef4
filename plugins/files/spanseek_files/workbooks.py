"""Excel workbooks, through openpyxl: sheets with a column of texts are tables, the others are read as they are."""

import csv
import io
import re
import warnings
import zipfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any, Final

from indexer.errors import InvalidDocument
from indexer.sources.named_rows import clock_time
from indexer.sources.options import ReadOptions, names_of
from indexer.sources.records import Found, Reading
from indexer.sources.tables import read_table
from models.types import Document, Part
from spanseek_files.compose import composed
from spanseek_files.isolated import isolated
from spanseek_files.nested import inside
from spanseek_files.number_formats import shown_number
from spanseek_files.packages import MAX_READ, Package, tag
from spanseek_files.word.reader import drawn_texts

_DEFAULT: Final = "text"
MAX_CELLS: Final = 10_000_000
# The cells that Excel allows a row: openpyxl reads rows of any length, and one of a million for minutes.
_MAX_COLUMNS: Final = 16_384
_ROW_END: Final = re.compile(rb"</(?:\w+:)?row>")
_CELL: Final = re.compile(rb"<(?:\w+:)?c[\s/>]")
# A cell with a formula and no value; one whose value is an empty text says that it is a text.
_UNCOMPUTED: Final = re.compile(
    rb"""
    <(?:\w+:)?c(?=\s)(?![^<>]*\st="str")[^<>]*>\s*
    <(?:\w+:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*
    (?:<(?:\w+:)?v\s*(?:/>|>\s*</(?:\w+:)?v>)\s*)?</(?:\w+:)?c>
    """,
    re.VERBOSE,
)
# The namespaces of "strict" files, and those of "transitional" ones, which openpyxl knows.
_STRICT: Final = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_TRANSITIONAL: Final = rb"http://schemas.openxmlformats.org/\1/2006/"
_LINKS: Final = "_rels/.rels"
# Signs that XML cannot hold, as the units of UTF-16: ``_x000D_``.
_ESCAPED: Final = re.compile(r"(?:_x[0-9A-Fa-f]{4}_)+")
_BREAK: Final = re.compile(r"\r\n?|\n")


@dataclass(slots=True)
class _Sheet:
    """A sheet that is shown: its rows that are not empty, by their numbers."""

    name: str
    is_table: bool = False
    rows: dict[int, list[str]] = field(default_factory=dict)

    def add(self, number: int, cells: Sequence[Any], options: ReadOptions) -> None:
        """Add a row: of a table the values of its cells, of others what the program shows."""
        values = [_written(cell.value) for cell in cells]
        self.is_table = self.is_table or (number == 1 and _has_texts(values, options))
        if any(values):
            self.rows[number] = values if self.is_table else [*map(_shown, cells)]


@isolated("an Excel workbook", "openpyxl", "lxml.etree")
def read_workbook(reading: Reading) -> Iterator[Found]:
    """A sheet whose first row names the column of texts is a table; all other sheets are one document.

    Of these a row is a part, with its sheet as ``section``. Hidden sheets are left out.
    """
    sheets = _sheets(reading)
    drawn = [*_drawn(reading)]
    tables = [sheet for sheet in sheets if sheet.is_table]
    for sheet in tables:
        yield from _table(reading, sheet, is_only=len(tables) == 1)
    others = [sheet for sheet in sheets if not sheet.is_table]
    if drawn or not tables or any(sheet.rows for sheet in others):
        yield 1, lambda: _document(reading, others, drawn)


def _has_texts(header: list[str], options: ReadOptions) -> bool:
    names = {cell.strip().lower() for cell in header}
    return all(name.lower() in names for name in names_of(options.text_column or _DEFAULT, header))


def _sheets(reading: Reading) -> list[_Sheet]:
    """All sheets that are shown; formulas whose values the file does not hold are counted."""
    data = reading.whole()
    _check_size(Package(data))
    book = _opened(data)
    hidden = [sheet.title for sheet in book.worksheets if sheet.sheet_state != "visible"]
    if hidden:
        reading.conclude(f"hidden sheets are left out: {', '.join(hidden)}")
    shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    _count_uncomputed(reading, Package(data), [sheet._worksheet_path for sheet in shown])
    sheets, count = [], 0
    for sheet in shown:
        sheets.append(_Sheet(sheet.title))
        sheet.reset_dimensions()  # a program that writes row after row may give those of the first cell
        for number, row in enumerate(sheet.iter_rows(), 1):
            count += max(len(row), 1)
            if count > MAX_CELLS:
                raise InvalidDocument(f"it has more than {MAX_CELLS:,} cells")
            if row:
                sheets[-1].add(number, row, reading.options)
    return sheets


def _opened(data: bytes) -> Any:  # noqa: ANN401 - openpyxl has no types
    """A workbook of openpyxl. Raises ``InvalidDocument`` for one in which it finds no sheet."""
    from openpyxl import load_workbook

    # It warns of styles that are missing and of rules for input, which are no text.
    warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")
    book = load_workbook(io.BytesIO(_transitional(data)), read_only=True, data_only=True)
    if not book.sheetnames:
        raise InvalidDocument("no sheet is found in it")
    return book


def _transitional(data: bytes) -> bytes:
    """A workbook in the namespaces that openpyxl knows."""
    package = Package(data)
    if _LINKS not in package or _STRICT.search(package.read(_LINKS)) is None:
        return data
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as strict, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in strict.namelist():
            part = strict.read(name)
            packed.writestr(name, _STRICT.sub(_TRANSITIONAL, part) if name.endswith((".xml", ".rels")) else part)
    return out.getvalue()


def _count_uncomputed(reading: Reading, package: Package, names: Sequence[str]) -> None:
    """Count the formulas without a value as lost: a program wrote them, and none has computed them."""
    count = sum(_count(_UNCOMPUTED, package.read(name)) for name in names)
    reading.lose(count, "formula", " without a stored value")


def _check_size(package: Package) -> None:
    """Raise ``InvalidDocument`` for what openpyxl would take too long to read."""
    if package.unpacked_size > MAX_READ:
        raise InvalidDocument(f"it unpacks to more than {MAX_READ:,} bytes")
    for name in package.names("xl/worksheets/"):
        rows = _ROW_END.split(package.read(name)) if name.endswith(".xml") else ()
        if any(len(row) > _MAX_COLUMNS and _count(_CELL, row) > _MAX_COLUMNS for row in rows):
            raise InvalidDocument(f"a row has more than {_MAX_COLUMNS:,} cells")


def _count(pattern: re.Pattern[bytes], data: bytes) -> int:
    return sum(1 for _ in pattern.finditer(data))


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
    if isinstance(value, str):
        return _unescaped(value)
    if isinstance(value, timedelta):
        return clock_time(timedelta(seconds=round(value.total_seconds())))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _unescaped(text: str) -> str:
    r"""A text with the signs that its escapes stand for; ``_x005F_`` is the underscore of what is none.

    >>> _unescaped("one_x000D_\ntwo _x005F_x0041_ _xD83D__xDE00_")
    'one\r\ntwo _x0041_ 😀'
    """
    return _ESCAPED.sub(lambda match: bytes.fromhex(re.sub("[_x]", "", match[0])).decode("utf-16-be", "replace"), text)


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
    reading.note(comments, "comments are left out")


def _document(reading: Reading, sheets: list[_Sheet], drawn: list[Part]) -> Document:
    parts = [
        Part("\t".join(cell for cell in row if cell), {"section": [sheet.name]})
        for sheet in sheets
        for row in sheet.rows.values()
        if any(row)
    ]
    return composed(reading, [*parts, *drawn], {})


def _table(reading: Reading, sheet: _Sheet, *, is_only: bool) -> Iterator[Found]:
    """The documents of a sheet that is a table, by the numbers of its rows.

    Where there are several, ids that are made of rows hold the sheet's name.
    """
    inner, lines = _as_csv(reading, sheet)
    if reading.options.row_ids and not is_only:
        inner.options = replace(inner.options, row_ids=f"{reading.row_prefix}:{sheet.name}")
    numbers = [*sheet.rows]
    for line, read in read_table(inner):
        yield numbers[bisect_right(lines, line) - 1], partial(_of_sheet, sheet.name, read)
    _, _, columns = inner.notice.partition("; ")  # after the encoding and the delimiter, which are ours
    reading.conclude(f"sheet {sheet.name}: {columns}")


def _of_sheet(name: str, read: Callable[[], Document]) -> Document:
    """A row's document; what is wrong with it names the sheet."""
    try:
        return read()
    except InvalidDocument as error:
        raise InvalidDocument(f"sheet {name}: {error}") from error


def _as_csv(reading: Reading, sheet: _Sheet) -> tuple[Reading, list[int]]:
    """A sheet as a file of CSV, and the lines on which its rows begin."""
    out, lines = io.StringIO(newline=""), [1]
    width = max(map(len, sheet.rows.values()))
    csv.writer(out).writerows(row + [""] * (width - len(row)) for row in sheet.rows.values())
    for row in sheet.rows.values():
        lines.append(lines[-1] + 1 + sum(len(_BREAK.findall(cell)) for cell in row))
    inner = inside(reading, reading.name, out.getvalue().encode())
    inner.depth = reading.depth
    inner.options = replace(reading.options, delimiter=",", encoding="utf-8", quote=None)
    return inner, lines[:-1]
