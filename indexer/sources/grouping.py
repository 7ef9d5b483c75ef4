"""Rows of a table grouped into documents: a turn, a clause or a comment a row.

Rows of one document need not stand together: exports of conversations are often in the order of time. They are sorted
by SQLite in a temporary database, which is on disk beyond a few megabytes.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Final

from indexer.errors import InvalidDocument
from indexer.sources.documents import MAX_PARTS, checked_id, checked_metadata, checked_size, checked_text
from indexer.sources.layout import Layout
from models.types import Document, JsonValue, Metadata, Part

_SCHEMA: Final = "CREATE TABLE cells (id TEXT, line INTEGER, rank REAL, row TEXT)"
_ORDERED: Final = """
    SELECT seen.line, cells.id, cells.row FROM cells JOIN seen ON seen.id = cells.id
    ORDER BY seen.line, cells.rank, cells.line
"""


class RowGroups:
    """Collects rows, and yields their documents.

    A column whose cells differ within any document is metadata of parts, in all documents; the others are metadata of
    documents. So is a column that is filled in one row of each document only.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._of_parts: set[int] = set()
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

    def add(self, line: int, row: Sequence[str]) -> str | None:
        """Collect a row, or say why its id is none."""
        layout = self._layout
        try:
            id = checked_id(row[layout.id or 0])
            checked_text(row[layout.text])
        except InvalidDocument as error:
            return str(error)
        self._rows += 1
        self._database.execute("INSERT INTO cells VALUES (?, ?, ?, ?)", (id, line, self._rank(row), json.dumps(row)))
        self._see_columns(id, line, row)
        return None

    def _rank(self, row: Sequence[str]) -> float | None:
        """The place of a row within its document: the number of its part, if parts are numbered."""
        part = self._layout.part or 0
        type, cell = self._layout.types[part], row[part]
        if not type.is_numeric or not cell:
            return None
        value = type.value(cell)
        return float(value) if isinstance(value, int | float) else None

    def _see_columns(self, id: str, line: int, row: Sequence[str]) -> None:
        """Note the columns in which a row differs from an earlier one of its document."""
        first = self._database.execute("SELECT row FROM seen WHERE id = ?", (id,)).fetchone()
        cells = [row[column] for column in self._layout.metadata]
        if first is None:
            self._database.execute("INSERT INTO seen VALUES (?, ?, ?)", (id, line, json.dumps(cells)))
            return
        before = json.loads(first[0])
        pairs = [*zip(self._layout.metadata, before, cells, strict=True)]
        self._of_parts.update(column for column, one, other in pairs if one and other and one != other)
        filled = [one or other for _, one, other in pairs]
        if filled != before:
            self._database.execute("UPDATE seen SET row = ? WHERE id = ?", (json.dumps(filled), id))

    def documents(self) -> Iterator[tuple[int, Callable[[], Document]]]:
        """The line of each document's first row, and the function that makes it."""
        ordered = self._database.execute(_ORDERED)
        for line, rows in groupby(ordered, key=itemgetter(0)):
            found = [(id, json.loads(row)) for _, id, row in _at_most(rows)]
            self._done += len(found)
            yield line, partial(self._document, found[0][0], [row for _, row in found])

    def _document(self, id: str, rows: Sequence[Sequence[str]]) -> Document:
        if len(rows) > MAX_PARTS:
            raise InvalidDocument(f"the document has more than {MAX_PARTS:,} rows, and as many parts are allowed")
        metadata: dict[str, JsonValue] = {}
        for row in rows:
            metadata = {**self._values(row, of_parts=False), **metadata}
        parts = tuple(Part(row[self._layout.text], self._values(row, of_parts=True)) for row in rows)
        return checked_size(Document(id, parts, checked_metadata(metadata)))

    def _values(self, row: Sequence[str], *, of_parts: bool) -> Metadata:
        chosen = [column for column in self._layout.metadata if (column in self._of_parts) == of_parts]
        part = [self._layout.part] if of_parts and self._layout.part is not None else []
        return checked_metadata(self._layout.values(row, [*part, *chosen]))


def _at_most(rows: Iterator[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
    """The rows of one document, but no more than are needed to see that they are too many."""
    for number, row in enumerate(rows):
        if number <= MAX_PARTS:
            yield row
