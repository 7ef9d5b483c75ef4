"""The rows of CSV and TSV: by RFC 4180, and where a row breaks its rules, by the reading that fits its table.

A quote that never closes, or closes in the middle of a cell, does not swallow the rows after it: its line is read as
it stands. So is a run of lines between two stray quotes, each of which is a row by itself. Quotes that a backslash
escapes, and blanks before a quote, are read as they are meant. What was read otherwise than by the rules is counted.
"""

import csv
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, TextIO, TypeAlias

from indexer.errors import SourceUnreadable
from indexer.sources import records

# The line of a row and its cells, or why it has none.
Row: TypeAlias = tuple[int, list[str] | str]

NO_QUOTE: Final = "none"
# Delimiters that hardly a text holds: lines with the right number of them are rows, whatever their quotes.
_RARE: Final = "\t|"
_ESCAPED: Final = re.compile(r'\\(["\\])')
# The memory of a line beside its text.
_LINE_COST: Final = 64


@dataclass(frozen=True, slots=True)
class Dialect:
    """The delimiter of a table, its quote, and the number of lines before its header."""

    delimiter: str
    quote: str = '"'
    skipped: int = 0


@dataclass(slots=True)
class OddRows:
    """The number of rows that were read otherwise than by the rules, by kind, and the line of the first."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, kind: str, line: int) -> None:
        """Count a row of a kind."""
        count, first = self.counts.get(kind, (0, line))
        self.counts[kind] = count + 1, first

    @property
    def notice(self) -> str:
        """The counts in words.

        >>> odd = OddRows()
        >>> odd.add("quotes that do not close", 7)
        >>> odd.notice
        '1 row with quotes that do not close (the first on line 7)'
        """
        return ", ".join(
            f"{count:,} {'row' if count == 1 else 'rows'} with {kind} (the first on line {line})"
            for kind, (count, line) in self.counts.items()
        )


def read_rows(
    text: TextIO, dialect: Dialect, width: int | None = None, id: int = 0, odd: OddRows | None = None
) -> Iterator[Row]:
    r"""The line and the cells of every row that is not empty, the header included.

    ``width`` is the number of cells of a row. ``id`` is the column whose values show whether lines are rows. Raises
    ``csv.Error`` at a cell that is too long: reading stopped in its middle, so that no later row is certain to begin.

    >>> import io
    >>> table = io.StringIO('id,text\n1,"a\nb"\n2,"never ends\n3,"\\"c\\", d"\n')
    >>> [row for _, row in read_rows(table, Dialect(","), width=2)]
    [['id', 'text'], ['1', 'a\nb'], ['2', '"never ends'], ['3', '"c", d']]
    """
    csv.field_size_limit(records.MAX_RECORD)
    return iter(_Rows(text, dialect, width, id, odd or OddRows()))


class _Rows:
    """Reads a table line by line; lines that were looked at ahead are put back."""

    def __init__(self, text: TextIO, dialect: Dialect, width: int | None, id: int, odd: OddRows) -> None:
        self._text, self._dialect, self._width, self._id, self._odd = text, dialect, width, id, odd
        self._ahead: deque[str] = deque()
        self._never_closes = False

    def __iter__(self) -> Iterator[Row]:
        number = 1
        while line := self._next():
            if number <= self._dialect.skipped or not line.strip("\r\n"):
                number += 1
                continue
            row, lines = self._row(number, line)
            yield number, row
            number += lines

    def _next(self) -> str:
        if self._ahead:
            return self._ahead.popleft()
        line = self._text.readline(records.MAX_RECORD + 1)
        if len(line) > records.MAX_RECORD:
            raise SourceUnreadable(f"a line has more than {records.MAX_RECORD:,} characters")
        return line

    def _row(self, number: int, line: str) -> tuple[list[str] | str, int]:
        """The cells of the row that begins with a line, and the number of its lines."""
        if self._dialect.quote == NO_QUOTE or self._dialect.quote not in line:
            return self._split(line), 1
        for reading in _READINGS:
            row, taken = self._parsed(line, reading)
            if isinstance(row, list) and self._fits(row) and not (taken and self._are_rows([line, *taken])):
                self._count(reading, number)
                return row, len(taken) + 1
            self._ahead.extendleft(reversed(taken))
        as_it_stands = self._split(line)
        if self._width is not None and self._fits(as_it_stands):
            self._count(_AS_IT_STANDS, number)
            return as_it_stands, 1
        row, taken = self._parsed(line, _BY_THE_RULES)
        return row, len(taken) + 1

    def _fits(self, row: list[str]) -> bool:
        return self._width in (None, len(row))

    def _count(self, reading: "_Reading", number: int) -> None:
        if reading.name:
            self._odd.add(reading.name, number)

    def _split(self, line: str) -> list[str]:
        return line.rstrip("\r\n").split(self._dialect.delimiter)

    def _parsed(self, line: str, reading: "_Reading") -> tuple[list[str] | str, list[str]]:
        """The row that begins with a line, or what is wrong with it; and the lines after its first that it took.

        Lines of a row that has no end are put back.
        """
        taken: list[str] = []
        lines = map(reading.prepare, chain([line], () if self._never_closes else self._look_ahead(taken)))
        delimiter, quote = self._dialect.delimiter, self._dialect.quote
        rows = csv.reader(
            lines, delimiter=delimiter, quotechar=quote, skipinitialspace=reading.skips_blanks, strict=True
        )
        try:
            return next(rows), taken
        except csv.Error as error:
            if "field limit" in str(error):
                raise
            if reading is _BY_THE_RULES and "end of data" in str(error):
                self._never_closes = True  # nor does any quote after it
            self._ahead.extendleft(reversed(taken))
            return f"not valid CSV: {error}", []

    def _look_ahead(self, taken: list[str]) -> Iterator[str]:
        size = 0
        while line := self._next():
            taken.append(line)
            size += len(line) + _LINE_COST
            if size > 4 * records.MAX_RECORD:
                raise csv.Error(f"field larger than field limit ({records.MAX_RECORD})")
            yield line

    def _are_rows(self, lines: list[str]) -> bool:
        """True if each line of a quoted cell of several lines is a row by itself, which stray quotes have joined."""
        rows = [self._split(line) for line in lines]
        if self._width is None or self._width < 2 or not all(map(self._fits, rows)):
            return False
        ids = [row[self._id] for row in rows]
        is_numbered = len({*map(_shape, ids)}) == 1 and len({*ids}) == len(ids) and ids[0][-1:].isdigit()
        return self._dialect.delimiter in _RARE or is_numbered


@dataclass(frozen=True, slots=True)
class _Reading:
    """A way to read a row: its name, empty for the rules, and what is done to its lines first."""

    name: str = ""
    prepare: Callable[[str], str] = str
    skips_blanks: bool = False


def _doubled(line: str) -> str:
    """A line with its escaped quotes doubled, as the rules have them."""
    return _ESCAPED.sub(lambda match: '""' if match[1] == '"' else "\\", line)


_BY_THE_RULES: Final = _Reading()
_READINGS: Final = (
    _BY_THE_RULES,
    _Reading("quotes that a backslash escapes", _doubled),
    _Reading("blanks before a quote", skips_blanks=True),
)
_AS_IT_STANDS: Final = _Reading("quotes that do not close, read as it stands")


def _shape(cell: str) -> str:
    """The shape of an id, which ids of one kind share: its signs, with every run of digits as one.

    >>> _shape("T-1041")
    'T-9'
    """
    return re.sub(r"\d+", "9", cell)
