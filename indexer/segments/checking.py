"""The check that the numbers of a segment that anybody may have written lie within it.

Checksums prove that files are as they were written. Kernels and readers also rely on what a writer of segments keeps:
that units belong to parts, parts to documents, and characters to texts.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from indexer.errors import SegmentCorrupt
from indexer.segments import layout
from indexer.segments.reader import Segment
from models.text.checks import unstorable

_TEXT, _NUMBER, _METADATA = pa.string(), pa.int64(), pa.dictionary(pa.int32(), pa.string())
_DOCUMENTS: Final[Mapping[str, pa.DataType]] = MappingProxyType(
    {"id": _TEXT, "content_hash": _TEXT, "first_part": _NUMBER, "text_start": _NUMBER}
)
_PARTS: Final[Mapping[str, pa.DataType]] = MappingProxyType(
    {"document": _NUMBER, "first_unit": _NUMBER, "start": _NUMBER, "end": _NUMBER}
)


def check_segment(segment: Segment) -> None:
    """Raise ``SegmentCorrupt`` for a segment that no segment writer can have written."""
    try:
        _check_tables(segment)
        _check_places(segment)
        _check_units(segment)
        _check_texts(segment)
    except (ValueError, KeyError, IndexError, RecursionError, pa.ArrowException) as error:
        raise SegmentCorrupt(f"{segment.folder.name}: {error}", hint="Index its documents again.") from error


def _require(is_so: bool | np.bool_, fault: str) -> None:
    if not is_so:
        raise ValueError(fault)


def _check_tables(segment: Segment) -> None:
    manifest = segment.manifest
    _check_table(segment.document_table, _DOCUMENTS, manifest.documents, layout.DOCUMENTS)
    _check_table(segment.part_table, _PARTS, manifest.parts, layout.PARTS)


def _check_table(table: pa.Table, columns: Mapping[str, pa.DataType], rows: int, name: str) -> None:
    _require(table.num_rows == rows, f"{name} has {table.num_rows:,} rows instead of {rows:,}")
    table.validate(full=True)
    for field in table.schema:
        is_metadata = field.name.startswith(layout.METADATA_PREFIX)
        expected = _METADATA if is_metadata else columns[field.name]
        _require(field.type == expected, f"{name} has a column {field.name[:80]!r} of another type")
        column = table.column(field.name)
        if is_metadata:
            _check_metadata(column)
        else:
            _require(column.null_count == 0, f"{name} lacks values of {field.name}")
    _require(set(columns) <= set(table.column_names), f"{name} lacks columns")


def _check_metadata(column: pa.ChunkedArray) -> None:
    for chunk in column.chunks:
        for spelling in chunk.dictionary.to_pylist():
            json.loads(spelling)
            _require(unstorable(spelling) is None, "its metadata cannot be stored")


def _check_places(segment: Segment) -> None:
    """Parts lie in their documents, one after the other, and units in their parts."""
    manifest, documents = segment.manifest, segment.part_document
    _check_steps(documents, 0, manifest.documents - 1, "the documents of its parts")
    _check_steps(segment.part_units, 0, manifest.units, "the units of its parts")
    _require(manifest.parts == 0 or segment.part_units[0] == 0, "its first part begins with another unit")
    _check_steps(segment.text_starts, 0, manifest.code_points, "its texts")
    _require(manifest.documents == 0 or segment.text_starts[0] == 0, "its first text begins elsewhere")
    lengths = np.diff(segment.text_starts)
    starts, ends = (segment.part_table.column(name).to_numpy() for name in ("start", "end"))
    _require(np.all((starts >= 0) & (starts <= ends) & (ends <= lengths[documents])), "parts lie beside texts")
    firsts = segment.document_table.column("first_part").to_numpy()
    _require(np.array_equal(firsts, segment.document_parts[:-1]), "its documents begin with other parts")


def _check_steps(numbers: Int[np.ndarray, " numbers"], least: int, most: int, what: str) -> None:
    inside = numbers.size == 0 or (numbers[0] >= least and numbers[-1] <= most)
    _require(bool(inside and np.all(np.diff(numbers) >= 0)), f"{what} are not in order")


def _check_units(segment: Segment) -> None:
    sizes = np.diff(segment.part_units)
    starts, ends = (segment.part_table.column(name).to_numpy() for name in ("start", "end"))
    spans = segment.unit_spans
    first, last = np.repeat(starts, sizes), np.repeat(ends, sizes)
    _require(
        bool(np.all((spans[:, 0] >= first) & (spans[:, 0] <= spans[:, 1]) & (spans[:, 1] <= last))),
        "units lie beside parts",
    )
    for numbers in (segment.scales, segment.norm_affine, segment.norm_errors):
        _require(bool(np.isfinite(numbers).all()), "its vectors are not finite")


def _check_texts(segment: Segment) -> None:
    """Frames of the texts lie behind each other, and unpack to no more than the code points of a frame can take."""
    if not segment.recipe.stores_text:
        return
    table = np.fromfile(segment.folder / layout.TEXT_BLOCKS, "<u8").reshape(-1, 3)
    packed = (segment.folder / layout.TEXT).stat().st_size
    _require(bool(np.all(table[0] == 0)) and int(table[-1, 0]) == packed, "the frames of its texts are others")
    _require(np.all(table[1:] >= table[:-1]), "the frames of its texts are not in order")
    sizes = np.diff(table[:, 1])
    _require(np.all(sizes <= layout.MOST_BYTES), "a frame of its texts is too long")
    _require(int(table[-1, 1]) >= segment.manifest.code_points, "its texts are shorter")
