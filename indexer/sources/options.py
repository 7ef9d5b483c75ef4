"""The options for reading tables and folders."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Columns, delimiter, encoding and types of tables, and a table of metadata.

    ``id_column`` and ``text_column`` name the columns of CSV, TSV and Parquet files; without them ``id`` and ``text``,
    in any case. ``row_ids`` makes ids of the file's name, or of the given one, and the row's number instead. With
    ``part_column`` the rows of one id are the parts of one document, in the order of that column if it holds numbers,
    else of the file.
    ``metadata_columns`` are all other columns unless they are named. ``delimiter`` and ``encoding`` are detected unless
    they are given. ``typed`` turns columns of which every cell is a number, or true or false, into these.
    ``metadata`` is a table of further metadata by document id. ``comments`` reads comments of Word files and notes that
    readers of a PDF stuck to its pages.
    """

    id_column: str | None = None
    text_column: str | None = None
    part_column: str | None = None
    metadata_columns: tuple[str, ...] | None = None
    row_ids: bool | str = False
    delimiter: str | None = None
    encoding: str | None = None
    typed: bool = True
    metadata: Path | None = None
    comments: bool = False
