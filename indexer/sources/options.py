"""The options for reading tables and folders."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Columns, delimiter, encoding and types of tables, and a table of metadata.

    ``id_column`` and ``text_column`` name the columns of tables, and the fields of JSON and Parquet; without them
    ``id`` and ``text``, in any case. Several columns of texts, with commas between them, become parts. ``row_ids``
    makes ids of the file's name, or of the given one, and the row's number instead. With ``part_column`` the rows of
    one id are the parts of one document, in the order of that column if it holds numbers, else of the file.
    ``metadata_columns`` are all other columns unless they are named. ``delimiter`` and ``encoding`` are detected unless
    they are given; ``quote`` is the sign around cells, ``none`` for tables without any. ``records`` names the field of
    a JSON file that holds its records. ``typed`` turns columns of which every cell is a number, or true or false, into
    these. ``metadata`` is a table of further metadata by document id. ``comments`` reads comments of
    documents and slides, and notes that readers of a PDF stuck to its pages.
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
    quote: str | None = None
    records: str | None = None

    @property
    def names_columns(self) -> bool:
        """True if records are rows of named columns, rather than documents of our own form."""
        given = (self.id_column, self.text_column, self.part_column, self.metadata_columns)
        return bool(self.row_ids) or any(name is not None for name in given)


def names_of(given: str, columns: Collection[str]) -> tuple[str, ...]:
    """The names in an option: one, if a column has it as it is, else those between its commas.

    >>> names_of("name, first", ["name, first"]), names_of("title, body", ["title", "body"])
    (('name, first',), ('title', 'body'))
    """
    if given in columns:
        return (given,)
    return tuple(name.strip() for name in given.split(",") if name.strip()) or (given,)
