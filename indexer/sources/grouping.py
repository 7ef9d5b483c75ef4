"""Rows grouped into documents: a turn, a clause or a comment a row.

Rows of one document need not stand together: exports of conversations are often in the order of time. They are sorted
by SQLite in a temporary database, which is on disk beyond a few megabytes.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from indexer.errors import InvalidDocument, SourceUnreadable
from indexer.sources.documents import MAX_PARTS, checked_metadata, checked_size
from indexer.sources.named_rows import NamedRow, document_of, row_of
from indexer.sources.records import Found, Reading, refuse
from models.types import Document, JsonValue

# The lines or numbers of rows, from 1, and the functions that read these, or their fields.
Rows: TypeAlias = Iterable[tuple[int, Callable[[], NamedRow]]]
FieldsOfRows: TypeAlias = Iterable[tuple[int, Callable[[], Mapping[str, object]]]]

_SCHEMA: Final = "CREATE TABLE cells (id TEXT, line INTEGER, rank REAL, row TEXT)"
_ORDERED: Final = """
    SELECT seen.line, cells.row FROM cells JOIN seen ON seen.id = cells.id
    ORDER BY seen.line, cells.rank, cells.line
"""


def read_fields(reading: Reading, rows: FieldsOfRows) -> Iterator[Found]:
    """The documents of rows of JSON or Parquet, by the options for columns; rows are numbered."""
    options = reading.options
    named = ((number, fields, f"{reading.row_prefix}:{number}") for number, fields in rows)
    if options.part_column is None:
        return ((number, partial(document_of, fields, options, id)) for number, fields, id in named)
    return read_groups(reading, ((number, partial(row_of, fields, options, id)) for number, fields, id in named))


def read_groups(reading: Reading, rows: Rows) -> Iterator[Found]:
    """Bad rows first, then the documents in the order of their first rows."""
    if reading.options.row_ids:
        raise SourceUnreadable("rows are grouped by their id, which the number of a row cannot be")
    with closing(RowGroups()) as groups:
        for number, read in rows:
            try:
                groups.add(number, read())
            except InvalidDocument as error:
                yield number, partial(refuse, str(error))
        for number, document in groups.documents():
            reading.fraction = groups.fraction
            yield number, document


class RowGroups:
    """Collects rows, and yields their documents.

    A column whose values differ within any document is metadata of parts, in all documents. All other columns are
    metadata of documents, even if they are filled in only one row of each document.
    """

    def __init__(self) -> None:
        self._of_parts: set[str] = set()
        self._rows = self._done = 0
        # An empty name makes a temporary database, which is deleted when it is closed.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(_SCHEMA)
        self._database.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, line INTEGER, row TEXT) WITHOUT ROWID")

    def close(self) -> None:
        """Delete the temporary database."""
        self._database.close()

    @property
    def fraction(self) -> float:
        """The share of rows whose documents were yielded."""
        return self._done / max(self._rows, 1)

    def add(self, line: int, row: NamedRow) -> None:
        """Collect a row."""
        self._rows += 1
        cells = (row.id, line, row.rank, json.dumps(asdict(row)))
        self._database.execute("INSERT INTO cells VALUES (?, ?, ?, ?)", cells)
        self._see(line, row)

    def _see(self, line: int, row: NamedRow) -> None:
        """Note the columns in which a row differs from an earlier one of its document."""
        first = self._database.execute("SELECT row FROM seen WHERE id = ?", (row.id,)).fetchone()
        if first is None:
            self._database.execute("INSERT INTO seen VALUES (?, ?, ?)", (row.id, line, json.dumps(row.metadata)))
            return
        before = json.loads(first[0])
        self._of_parts.update(name for name, value in row.metadata.items() if before.get(name, value) != value)
        if row.metadata.keys() - before.keys():
            filled = json.dumps({**row.metadata, **before})
            self._database.execute("UPDATE seen SET row = ? WHERE id = ?", (filled, row.id))

    def documents(self) -> Iterator[tuple[int, Callable[[], Document]]]:
        """The line of each document's first row, and the function that makes it."""
        ordered = self._database.execute(_ORDERED)
        for line, rows in groupby(ordered, key=itemgetter(0)):
            found = [NamedRow(**json.loads(row)) for _, row in _at_most(rows)]
            self._done += len(found)
            yield line, partial(self._document, found)

    def _document(self, rows: Sequence[NamedRow]) -> Document:
        if len(rows) > MAX_PARTS:
            raise InvalidDocument(f"the document has more than {MAX_PARTS:,} rows, and as many parts are allowed")
        metadata: dict[str, JsonValue] = {}
        for row in rows:
            metadata = {**self._of(row, of_parts=False), **metadata}
        parts = (part for row in rows for part in row.parts(self._of_part(row)))
        return checked_size(Document(rows[0].id, tuple(parts), checked_metadata(metadata)))

    def _of(self, row: NamedRow, *, of_parts: bool) -> dict[str, JsonValue]:
        return {name: value for name, value in row.metadata.items() if (name in self._of_parts) == of_parts}

    def _of_part(self, row: NamedRow) -> dict[str, JsonValue]:
        return dict(checked_metadata({**row.part, **self._of(row, of_parts=True)}))


def _at_most(rows: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The rows of one document, but no more than are needed to see that they are too many."""
    for number, row in enumerate(rows):
        if number <= MAX_PARTS:
            yield row
