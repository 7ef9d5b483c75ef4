"""CSV and TSV: a row a document, or a row a part of one."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial

from indexer.sources.documents import checked_id, checked_metadata, checked_size, checked_text
from indexer.sources.grouping import RowGroups
from indexer.sources.layout import Layout, detect_layout
from indexer.sources.records import Found, Reading, refuse
from models.types import Document, Part


def read_table(reading: Reading) -> Iterator[Found]:
    """A column of ids and one of texts; the other columns are metadata, and empty cells are left out."""
    layout = detect_layout(reading)
    reading.notice = layout.notice
    if layout.part is None:
        yield from _rows(layout, reading)
    else:
        yield from _groups(layout, reading)


def _rows(layout: Layout, reading: Reading) -> Iterator[Found]:
    for count, (number, row) in enumerate(layout.rows(reading.file), 1):
        problem = row if isinstance(row, str) else layout.problem(row)
        if problem is not None or isinstance(row, str):
            yield number, partial(refuse, str(problem))
        else:
            yield number, partial(_document, layout, row, f"{reading.row_prefix}:{count}")


def _document(layout: Layout, row: Sequence[str], row_id: str) -> Document:
    id = checked_id(row_id if layout.id is None else row[layout.id])
    parts = (Part(checked_text(row[layout.text])),)
    return checked_size(Document(id, parts, checked_metadata(layout.values(row, layout.metadata))))


def _groups(layout: Layout, reading: Reading) -> Iterator[Found]:
    """Bad rows first, then the documents in the order of their first rows."""
    if layout.id is None:
        raise AssertionError("rows are grouped by their id")
    with closing(RowGroups(layout)) as groups:
        for number, row in layout.rows(reading.file):
            problem = row if isinstance(row, str) else layout.problem(row) or groups.add(number, row)
            if problem is not None:
                yield number, partial(refuse, str(problem))
        for number, document in groups.documents():
            reading.fraction = groups.fraction
            yield number, document
