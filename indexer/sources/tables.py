"""CSV and TSV: a row a document, or a row a part of one."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from indexer.sources.documents import checked_id, checked_text
from indexer.sources.grouping import read_groups
from indexer.sources.layout import Layout, detect_layout
from indexer.sources.named_rows import NamedRow
from indexer.sources.records import Found, Reading, refuse
from models.types import Document


def read_table(reading: Reading) -> Iterator[Found]:
    """A column of ids and one or several of texts; the other columns are metadata, and empty cells are left out."""
    layout = detect_layout(reading)
    reading.notice = layout.notice
    if layout.part is not None:
        yield from read_groups(reading, _rows(layout, reading))
    else:
        for number, read in _rows(layout, reading):
            yield number, partial(_document, read)
    reading.notice = layout.notice


def _rows(layout: Layout, reading: Reading) -> Iterator[tuple[int, Callable[[], NamedRow]]]:
    """The rows but those whose cells are all empty, which count where ids are made of rows."""
    for count, (number, row) in enumerate(layout.rows(reading.file), 1):
        if not any(row):
            continue
        problem = row if isinstance(row, str) else layout.problem(row)
        if problem is not None or isinstance(row, str):
            yield number, partial(refuse, str(problem))
        else:
            yield number, partial(_row, layout, row, f"{reading.row_prefix}:{count}")


def _row(layout: Layout, row: Sequence[str], row_id: str) -> NamedRow:
    id = checked_id(row_id if layout.id is None else row[layout.id])
    texts = [(layout.header[column], checked_text(row[column])) for column in layout.texts]
    part = [] if layout.part is None else [layout.part]
    return NamedRow(id, texts, layout.values(row, part), layout.values(row, layout.metadata))


def _document(read: Callable[[], NamedRow]) -> Document:
    return read().document()
