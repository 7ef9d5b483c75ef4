"""Parquet files: a row a document."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from indexer.errors import InvalidDocument, SourceUnreadable
from indexer.sources.documents import document_from_json
from indexer.sources.options import ReadOptions
from indexer.sources.records import Found, Reading
from models.types import Document


def read_parquet(reading: Reading) -> Iterator[Found]:
    """Columns ``id`` and ``text`` or ``parts``; a ``metadata`` struct and further columns are metadata."""
    options = reading.options
    if options.part_column is not None:
        raise SourceUnreadable("rows of Parquet files are not grouped; give their parts as a list in a column parts")
    file = pq.ParquetFile(reading.file, page_checksum_verification=True)
    _check_columns(options, file.schema_arrow.names)
    batches = file.iter_batches(batch_size=256)
    rows = ((batch, row) for batch in batches for row in range(batch.num_rows))
    for number, (batch, row) in enumerate(rows, 1):
        id = f"{reading.row_prefix}:{number}" if options.row_ids else None
        yield number, partial(_document, options, batch, row, id)


def _check_columns(options: ReadOptions, names: list[str]) -> None:
    for column in (options.id_column, options.text_column, *(options.metadata_columns or ())):
        if column is not None and column not in names:
            raise SourceUnreadable(f"it has no column {column!r}; its columns are {', '.join(names)}")


def _document(options: ReadOptions, batch: pa.RecordBatch, row: int, id: str | None) -> Document:
    values = {name: column[row].as_py() for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    present = _present(values)
    for column, field in ((options.id_column, "id"), (options.text_column, "text")):
        if column is not None and column != field:
            present = {name: value for name, value in present.items() if name != field}
            present |= {field: present.pop(column)} if column in present else {}
    own = {key: present.pop(key) for key in ("id", "text", "parts") if key in present}
    if id is not None:
        own["id"] = id
    if isinstance(own.get("parts"), list):
        own["parts"] = [_present_part(part) for part in own["parts"]]
    metadata = present.pop("metadata", {})
    if not isinstance(metadata, dict):
        raise InvalidDocument("metadata must be a JSON object, which Parquet calls a struct")
    if options.metadata_columns is not None:
        present = {name: value for name, value in present.items() if name in options.metadata_columns}
    return document_from_json(own | {"metadata": _present(metadata) | present})


def _present_part(part: object) -> object:
    if isinstance(part, dict) and isinstance(part.get("metadata"), dict):
        return part | {"metadata": _present(part["metadata"])}
    return part


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    """Drop null fields: all rows of Parquet have the same fields."""
    return {name: value for name, value in fields.items() if value is not None}
