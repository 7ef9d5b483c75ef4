"""The layout of a table: its encoding, its delimiter, its columns and their types.

Everything is determined before the first row is read, in two passes over the file: types of columns are those of all
their cells, so that a value has the same type in every document.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO, Final, TextIO

from indexer.errors import SourceUnreadable
from indexer.sources.cells import ColumnType
from indexer.sources.encodings import Encoding, detect_encoding, errors_of, given_encoding
from indexer.sources.options import ReadOptions, names_of
from indexer.sources.records import Reading, unpacked
from indexer.sources.rows import Dialect, OddRows, Row, read_rows
from models.types import JsonValue

# More would each become a column of every segment.
MAX_COLUMNS: Final = 10_000
_DELIMITERS: Final = ",;\t|"
_SAMPLED_CHARACTERS: Final = 2**16
_SAMPLED_ROWS: Final = 100
_NAMES: Final = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}
# The line by which Excel is told the delimiter.
_SEPARATOR: Final = re.compile(r"\"?sep=(.)\"?\s*[\r\n]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table by their index; ``id`` is None where ids are made of rows.

    ``repeated`` are the names that several columns have; ``odd`` counts the rows that were read otherwise than by the
    rules of CSV.
    """

    encoding: Encoding
    dialect: Dialect
    header: tuple[str, ...]
    id: int | None
    texts: tuple[int, ...]
    part: int | None
    metadata: tuple[int, ...]
    types: tuple[ColumnType, ...]
    repeated: frozenset[str]
    odd: OddRows = field(default_factory=OddRows)

    def rows(self, file: BinaryIO) -> Iterator[Row]:
        """The line and the cells of every row after the header; for a row that is not valid CSV, why."""
        self.odd.counts.clear()
        with _opened(file, self.encoding) as text:
            yield from islice(read_rows(text, self.dialect, len(self.header), self.id or 0, self.odd), 1, None)

    def problem(self, row: Sequence[str]) -> str | None:
        """The reason why a row cannot be read; None if it can."""
        if len(row) != len(self.header):
            return f"the row has {len(row)} fields and the header {len(self.header)}"
        try:
            "".join(row).encode()
        except UnicodeEncodeError:
            return f"the row is not valid {self.encoding.codec.removesuffix('-sig').upper()}"
        return None

    def values(self, row: Sequence[str], columns: Sequence[int]) -> dict[str, JsonValue]:
        """The cells of some columns that are not empty, by the names of the columns; of a repeated name a list."""
        values: dict[str, JsonValue] = {}
        for column in columns:
            if row[column]:
                name, value = self.header[column], self.types[column].value(row[column])
                if name in self.repeated:
                    values[name] = [*values.get(name, []), value]  # type: ignore[misc]
                else:
                    values[name] = value
        return values

    @property
    def notice(self) -> str:
        """The detected layout, in words."""
        typed = [
            f"{self.header[column]} {self.types[column].name}" for column in self.metadata if self._is_typed(column)
        ]
        id = "the row number" if self.id is None else self.header[self.id]
        delimiter = _NAMES.get(self.dialect.delimiter, self.dialect.delimiter)
        parts = [
            f"encoding {self.encoding}, delimiter {delimiter}",
            f"id from {id}, text from {', '.join(dict.fromkeys(self.header[text] for text in self.texts))}",
        ]
        if self.part is not None:
            parts.append(f"parts by {self.header[self.part]}")
        parts += [f"typed columns: {', '.join(typed)}"] if typed else []
        return "; ".join([*parts, *filter(None, [self.odd.notice])])

    def _is_typed(self, column: int) -> bool:
        return self.types[column].name != "text"


def detect_layout(reading: Reading) -> Layout:
    """The layout of a CSV or TSV file. Raises ``SourceUnreadable`` where a column is missing."""
    options = reading.options
    encoding = _encoding(reading)
    with closing(reading.open_again()) as file, _opened(file, encoding) as text:
        sample = text.read(_SAMPLED_CHARACTERS)
    dialect = _dialect(sample, options, is_tabbed=unpacked(reading.name).lower().endswith(".tsv"))
    with closing(reading.open_again()) as file, _opened(file, encoding) as text:
        layout = _layout(options, encoding, dialect, _header(text, dialect))
    if options.typed:
        _see_types(layout, reading)
    return layout


def _encoding(reading: Reading) -> Encoding:
    if reading.options.encoding is not None:
        return given_encoding(reading.options.encoding)
    with closing(reading.open_again()) as file:
        return detect_encoding(file)


def _opened(file: BinaryIO, encoding: Encoding) -> TextIO:
    """Open a file as text. Except in UTF-16 and UTF-32, bytes that cannot be decoded make only their row invalid."""
    wide = encoding.codec.startswith(("utf-16", "utf-32"))
    errors = errors_of(encoding.codec, "strict" if wide else "surrogateescape")
    return io.TextIOWrapper(file, encoding.codec, errors, newline="")


def _dialect(sample: str, options: ReadOptions, *, is_tabbed: bool) -> Dialect:
    separator = _SEPARATOR.match(sample)
    quote = options.quote or '"'
    if separator is not None:
        return Dialect(options.delimiter or separator[1], quote, skipped=1)
    return Dialect(options.delimiter or ("\t" if is_tabbed else detect_delimiter(sample, quote)), quote)


def detect_delimiter(sample: str, quote: str = '"') -> str:
    r"""The delimiter that splits most rows into as many fields as the header, and into the most fields.

    >>> detect_delimiter('id;text\n1;"one, two"\n2;three, four, five\n')
    ';'
    """
    return max(_DELIMITERS, key=lambda delimiter: _consistency(sample, Dialect(delimiter, quote)))


def _consistency(sample: str, dialect: Dialect) -> tuple[float, int]:
    whole = sample[: sample.rfind("\n") + 1] or sample
    width = len(next((row for _, row in _sampled(whole, dialect, None)), []))
    rows = [row for _, row in islice(_sampled(whole, dialect, width), _SAMPLED_ROWS)]
    if width < 2:
        return 0.0, 0
    return sum(len(row) == width for row in rows if not isinstance(row, str)) / len(rows), width


def _sampled(sample: str, dialect: Dialect, width: int | None) -> Iterator[Row]:
    """The rows of a sample, up to a field that is too long."""
    with suppress(csv.Error):
        yield from read_rows(io.StringIO(sample, newline=""), dialect, width)


def _header(text: TextIO, dialect: Dialect) -> tuple[str, ...]:
    _, header = next(read_rows(text, dialect), (0, []))
    if isinstance(header, str):
        raise SourceUnreadable(f"its first line must name the columns, but is {header}")
    if len(header) > MAX_COLUMNS:
        raise SourceUnreadable(f"it has {len(header):,} columns; at most {MAX_COLUMNS:,} are allowed")
    return tuple(name.strip() for name in header)


def _layout(options: ReadOptions, encoding: Encoding, dialect: Dialect, header: tuple[str, ...]) -> Layout:
    id = None if options.row_ids else _column(header, options.id_column or "id", "--id-column")
    texts = [
        column
        for name in names_of(options.text_column or "text", header)
        for column in _columns(header, name, "--text-column")
    ]
    part = None
    if options.part_column is not None:
        part = _column(header, options.part_column, "--part-column")
        if id is None:
            raise SourceUnreadable("rows are grouped by their id, which the number of a row cannot be")
    metadata = tuple(column for column, name in enumerate(header) if name and column not in {id, part, *texts})
    if options.metadata_columns is not None:
        chosen = {
            column for name in options.metadata_columns for column in _columns(header, name, "--metadata-columns")
        }
        metadata = tuple(column for column in metadata if column in chosen)
    types = tuple(ColumnType(dialect.delimiter) for _ in header)
    repeated = frozenset(name for name, count in Counter(header).items() if count > 1)
    return Layout(encoding, dialect, header, id, tuple(dict.fromkeys(texts)), part, metadata, types, repeated)


def _column(header: Sequence[str], name: str, option: str) -> int:
    columns = _columns(header, name, option)
    if len(columns) > 1:
        raise SourceUnreadable(f"its first line names the column {name} {len(columns)} times; rename the others")
    return columns[0]


def _columns(header: Sequence[str], name: str, option: str) -> list[int]:
    """The columns of a name, or of the one that differs from it in case alone."""
    columns = [column for column, other in enumerate(header) if other == name]
    similar = columns or [column for column, other in enumerate(header) if other.lower() == name.lower()]
    if len({header[column] for column in similar}) == 1:
        return similar
    names = ", ".join(dict.fromkeys(filter(None, header))) or "none"
    raise SourceUnreadable(
        f"it has no column {name}; its columns are {names}",
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
