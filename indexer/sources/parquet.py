"""Parquet files: a row a document, or a row a part of one."""

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from indexer.errors import SourceUnreadable
from indexer.sources.grouping import read_fields
from indexer.sources.options import ReadOptions, names_of
from indexer.sources.records import Found, Reading


def read_parquet(reading: Reading) -> Iterator[Found]:
    """Columns ``id`` and ``text`` or ``parts``; a ``metadata`` struct and further columns are metadata."""
    file = pq.ParquetFile(reading.file, page_checksum_verification=True)
    _check_columns(reading.options, file.schema_arrow.names)
    rows = ((batch, row) for batch in file.iter_batches(batch_size=256) for row in range(batch.num_rows))
    for number, found in read_fields(reading, ((at, partial(_fields, *row)) for at, row in enumerate(rows, 1))):
        if reading.options.part_column is None:
            reading.fraction = number / file.metadata.num_rows
        yield number, found


def _check_columns(options: ReadOptions, names: list[str]) -> None:
    texts = names_of(options.text_column, names) if options.text_column is not None else ()
    for column in (options.id_column, options.part_column, *texts, *(options.metadata_columns or ())):
        if column is not None and column not in names:
            raise SourceUnreadable(f"it has no column {column!r}; its columns are {', '.join(names)}")


def _fields(batch: pa.RecordBatch, row: int) -> Mapping[str, object]:
    return {name: column[row].as_py() for name, column in zip(batch.schema.names, batch.columns, strict=True)}
