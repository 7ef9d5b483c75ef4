"""The tables of a segment: a row a part, and a row a document, with metadata as columns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from indexer.segments.columns import metadata_columns
from models.types import Metadata


class PartRow(NamedTuple):
    """A part: its document, its first unit, and its characters in the document."""

    document: int
    first_unit: int
    start: int
    end: int


class DocumentEntry(NamedTuple):
    """A document: its id, its content hash, its first part, and where its text begins in the segment's."""

    id: str
    content_hash: str
    first_part: int
    text_start: int


def part_columns(rows: Sequence[PartRow], metadata: Sequence[Metadata]) -> dict[str, pa.Array]:
    """The columns of the table of parts.

    >>> part_columns([PartRow(0, 0, 0, 5)], [{"speaker": "agent"}])["end"].to_pylist()
    [5]
    """
    columns = np.array(rows, np.int64).reshape(-1, len(PartRow._fields)).T
    named = {name: pa.array(column) for name, column in zip(PartRow._fields, columns, strict=True)}
    return named | metadata_columns(metadata)


def document_columns(rows: Sequence[DocumentEntry], metadata: Sequence[Metadata]) -> dict[str, pa.Array]:
    """The columns of the table of documents."""
    kinds = pa.string(), pa.string(), pa.int64(), pa.int64()
    columns = {
        name: pa.array([row[number] for row in rows], kind)
        for number, (name, kind) in enumerate(zip(DocumentEntry._fields, kinds, strict=True))
    }
    return columns | metadata_columns(metadata)
