"""The layout of a table: its encoding, its delimiter, its columns and their types.

Everything is determined before the first row is read, in two passes over the file: types of columns are those of all
their cells, so that a value has the same type in every document.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, Final, TextIO

from indexer.errors import SourceUnreadable
from indexer.sources import records
from indexer.sources.cells import ColumnType
from indexer.sources.encodings import detect_encoding
from indexer.sources.options import ReadOptions
from indexer.sources.records import Reading, unpacked
from models.types import JsonValue

_DELIMITERS: Final = ",;\t|"
_SAMPLED_CHARACTERS: Final = 2**16
_SAMPLED_ROWS: Final = 100
_NAMES: Final = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table by their index; ``id`` is None where ids are made of rows."""

    encoding: str
    delimiter: str
    header: tuple[str, ...]
    id: int | None
    text: int
    part: int | None
    metadata: tuple[int, ...]
    types: tuple[ColumnType, ...]

    def rows(self, file: BinaryIO) -> Iterator[tuple[int, list[str] | str]]:
        """The line and the cells of every row after the header; for a row that is not valid CSV, why."""
        with io.TextIOWrapper(file, self.encoding, _errors(self.encoding), newline="") as text:
            yield from islice(read_rows(text, self.delimiter), 1, None)

    def problem(self, row: Sequence[str]) -> str | None:
        """The reason why a row cannot be read; None if it can."""
        if len(row) != len(self.header):
            return f"the row has {len(row)} fields and the header {len(self.header)}"
        try:
            "".join(row).encode()
        except UnicodeEncodeError:
            return f"the row is not valid {self.encoding.removesuffix('-sig').upper()}"
        return None

    def values(self, row: Sequence[str], columns: Sequence[int]) -> dict[str, JsonValue]:
        """The cells of some columns that are not empty, by the names of the columns."""
        return {self.header[column]: self.types[column].value(row[column]) for column in columns if row[column]}

    @property
    def notice(self) -> str:
        """The detected layout, in words."""
        typed = [
            f"{self.header[column]} {self.types[column].name}" for column in self.metadata if self._is_typed(column)
        ]
        id = "the row number" if self.id is None else self.header[self.id]
        parts = [
            f"encoding {self.encoding.removesuffix('-sig')}, delimiter {_NAMES.get(self.delimiter, self.delimiter)}",
            f"id from {id}, text from {self.header[self.text]}",
        ]
        if self.part is not None:
            parts.append(f"parts by {self.header[self.part]}")
        return "; ".join([*parts, *([f"typed columns: {', '.join(typed)}"] if typed else [])])

    def _is_typed(self, column: int) -> bool:
        return self.types[column].name != "text"


def detect_layout(reading: Reading) -> Layout:
    """The layout of a CSV or TSV file. Raises ``SourceUnreadable`` where a column is missing."""
    options = reading.options
    encoding = options.encoding
    if encoding is None:
        with closing(reading.open_again()) as file:
            encoding = detect_encoding(file)
    elif encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    with closing(reading.open_again()) as file, io.TextIOWrapper(file, encoding, _errors(encoding), newline="") as text:
        sample = text.read(_SAMPLED_CHARACTERS)
    is_tabbed = unpacked(reading.name).lower().endswith(".tsv")
    delimiter = options.delimiter or ("\t" if is_tabbed else detect_delimiter(sample))
    header = tuple(name.strip() for name in _header(sample, delimiter))
    layout = _layout(options, encoding, delimiter, header)
    if options.typed:
        _see_types(layout, reading)
    return layout


def detect_delimiter(sample: str) -> str:
    r"""The delimiter that splits most rows into as many fields as the header, and into the most fields.

    >>> detect_delimiter('id;text\n1;"one, two"\n2;three, four, five\n')
    ';'
    """
    return max(_DELIMITERS, key=lambda delimiter: _consistency(sample, delimiter))


def _consistency(sample: str, delimiter: str) -> tuple[float, int]:
    whole = sample[: sample.rfind("\n") + 1] or sample
    rows = [row for _, row in islice(_sampled_rows(whole, delimiter), _SAMPLED_ROWS)]
    width = len(rows[0]) if rows and not isinstance(rows[0], str) else 0
    if width < 2:
        return 0.0, 0
    return sum(len(row) == width for row in rows if not isinstance(row, str)) / len(rows), width


def _header(sample: str, delimiter: str) -> list[str]:
    _, header = next(_sampled_rows(sample, delimiter), (0, []))
    if isinstance(header, str):
        raise SourceUnreadable(f"its first line must name the columns, but is {header}")
    return header


def _sampled_rows(sample: str, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """The rows of a sample, up to a field that is too long."""
    with suppress(csv.Error):
        yield from read_rows(io.StringIO(sample, newline=""), delimiter)


def read_rows(text: TextIO, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """The line and the cells of every row that is not empty; for a row that is not valid CSV, why.

    Raises ``csv.Error`` at a field that is too long: the next line is in its middle, and no row is certain to begin.
    """
    csv.field_size_limit(records.MAX_RECORD)
    rows = csv.reader(_bounded_lines(text), delimiter=delimiter, strict=True)
    while True:
        number = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            if "field limit" in str(error):
                raise
            yield number, f"not valid CSV: {error}"
            continue
        if row:
            yield number, row


def _bounded_lines(text: TextIO) -> Iterator[str]:
    while line := text.readline(records.MAX_RECORD + 1):
        if len(line) > records.MAX_RECORD:
            raise SourceUnreadable(f"a line has more than {records.MAX_RECORD:,} characters")
        yield line


def _layout(options: ReadOptions, encoding: str, delimiter: str, header: tuple[str, ...]) -> Layout:
    named = [name for name in header if name]
    if len(set(named)) < len(named):
        twice = sorted({name for name in named if named.count(name) > 1})
        raise SourceUnreadable(f"its first line names the column {twice[0]} twice; rename one of them")
    id = None if options.row_ids else _column(header, options.id_column, "id", "--id-column")
    text = _column(header, options.text_column, "text", "--text-column")
    part = None
    if options.part_column is not None:
        part = _column(header, options.part_column, "", "--part-column")
        if id is None:
            raise SourceUnreadable("rows are grouped by their id, which the number of a row cannot be")
    used = {id, text, part}
    metadata = tuple(column for column, name in enumerate(header) if name and column not in used)
    if options.metadata_columns is not None:
        chosen = {_column(header, name, "", "--metadata-columns") for name in options.metadata_columns}
        metadata = tuple(column for column in metadata if column in chosen)
    types = tuple(ColumnType(delimiter) for _ in header)
    return Layout(encoding, delimiter, header, id, text, part, metadata, types)


def _column(header: Sequence[str], given: str | None, default: str, option: str) -> int:
    name = given or default
    if name in header:
        return header.index(name)
    similar = [column for column, other in enumerate(header) if other.lower() == name.lower()]
    if len(similar) == 1:
        return similar[0]
    columns = ", ".join(filter(None, header)) or "none"
    raise SourceUnreadable(
        f"it has no column {name}; its columns are {columns}",
        hint=f"Name the right one with {option} (over HTTP {option.strip('-').replace('-', '_')}).",
    )


def _see_types(layout: Layout, reading: Reading) -> None:
    columns = [*layout.metadata, *([] if layout.part is None else [layout.part])]
    try:
        for _, row in layout.rows(reading.open_again()):
            if not isinstance(row, str) and len(row) == len(layout.header):
                for column in columns:
                    layout.types[column].see(row[column])
    except (csv.Error, SourceUnreadable):
        return  # the reader meets the same line and reports it


def _errors(encoding: str) -> str:
    """The handler of bytes that are not of the encoding: in those of one byte a sign, only their row is bad."""
    return "strict" if encoding.startswith("utf-16") else "surrogateescape"
