"""An opened segment: arrays mapped into memory, texts and metadata on demand."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float32, Int, Int8, UInt8, UInt32

from indexer.arrays import SegmentArrays
from indexer.errors import BordersMissing, SegmentCorrupt
from indexer.representations.base import Stored
from indexer.representations.registry import representation
from indexer.segments import layout
from indexer.segments.columns import read_table, row_metadata
from indexer.segments.kinds import Level
from indexer.segments.manifest import Manifest, SegmentKey, check_sizes, read_manifest, verify_files
from indexer.segments.mapping import mapped
from indexer.segments.recent import Recent
from indexer.segments.text import NoText, OffsetUnit, PlainText, TextReader
from indexer.segments.values import DocumentIds, MetadataValues
from models.text.borders import LEVELS, Boundary, whole_starts
from models.types import CharSpan, JsonValue, UnitSpan

# Filters whose masks a segment keeps, of one byte a document and one a part.
_RECENT_MASKS: Final = 32


class Segment:
    """Read-only and safe to share between threads.

    Opening verifies the manifest by the catalog's checksum, the sizes of all files, and all but the large files by
    their checksums; ``indexer.segments.opened`` verifies those, and ``spanseek verify`` all.
    """

    def __init__(self, folder: Path, manifest_sha256: str) -> None:
        self.folder = folder
        self.key = SegmentKey(folder, manifest_sha256)
        self.manifest = manifest = read_manifest(folder, manifest_sha256)
        check_sizes(folder, manifest)
        verify_files(folder, manifest, large=False)
        self.recipe = recipe = manifest.recipe
        units, lengths = manifest.units, len(recipe.bounds.lengths)
        blocks = -(-units // layout.BLOCK)
        self.vectors: Int8[np.ndarray, "units dim"] = mapped(folder / layout.VECTORS, np.int8, (units, recipe.dim))
        self.scales: Float32[np.ndarray, " units"] = mapped(folder / layout.SCALES, "<f4", (units,))
        self.norm_codes: UInt8[np.ndarray, "blocks lengths {layout.BLOCK}"] = mapped(
            folder / layout.NORM_CODES, np.uint8, (blocks, lengths, layout.BLOCK)
        )
        self.norm_affine: Float32[np.ndarray, "blocks lengths 2"] = mapped(
            folder / layout.NORM_AFFINE, "<f4", (blocks, lengths, 2)
        )
        self.norm_errors: Float32[np.ndarray, " blocks"] = mapped(folder / layout.NORM_ERRORS, "<f4", (blocks,))
        self.unit_spans: UInt32[np.ndarray, "units 2"] = mapped(folder / layout.UNIT_SPANS, "<u4", (units, 2))
        self.borders: UInt8[np.ndarray, " units"] = self._map_borders(units)
        self.windows: UInt8[np.ndarray, " bytes"] = _optional(folder / layout.WINDOWS, manifest)
        # The rows of every representation besides units, as it opens them.
        self.stored: dict[str, Stored] = {
            name: representation(name).open(folder, details, manifest.rows[name], manifest.files)
            for name, details in recipe.details.items()
        }
        # Parts and documents with their metadata columns.
        self.part_table: pa.Table = read_table(folder / layout.PARTS)
        self.document_table: pa.Table = read_table(folder / layout.DOCUMENTS)
        # Mapped now, like all other files: an open segment stays readable after its files are removed.
        self._text: TextReader | PlainText | NoText = self._open_text() if recipe.stores_text else NoText()

    def _open_text(self) -> TextReader:
        frames = -(-self.manifest.code_points // layout.TEXT_BLOCK)
        table = mapped(self.folder / layout.TEXT_BLOCKS, "<u8", (frames + 1, 3))
        return TextReader(self.folder / layout.TEXT, table)

    def wrong_size(self) -> SegmentCorrupt | None:
        """The error of a file that is no longer there, or no longer as long."""
        try:
            check_sizes(self.folder, self.manifest)
        except SegmentCorrupt as error:
            return error
        return None

    @property
    def arrays(self) -> SegmentArrays:
        """The arrays for the kernels."""
        return SegmentArrays(
            self.vectors,
            self.scales,
            self.norm_codes,
            self.norm_affine,
            self.recipe.bounds.shortest,
            self.borders,
        )

    @cached_property
    def whole_spans(self) -> Mapping[Boundary, Int[np.ndarray, " whole_spans_and_one"]]:
        """The first units of all clauses, of all sentences and of all parts, and the number of units.

        Raises ``BordersMissing`` for a segment that stores no borders.
        """
        if not self.has_borders:
            raise BordersMissing(
                f"{self.folder.name} was written before version 0.3: its clauses and sentences are not known.",
                hint="Run `spanseek optimize` once; it adds them. Nothing is encoded again.",
            )
        # Parts begin whole spans even where their borders, which are verified after the first search, are damaged.
        return {boundary: np.union1d(whole_starts(self.borders, boundary), self.part_units) for boundary in LEVELS}

    @property
    def has_borders(self) -> bool:
        """False for a segment of before version 0.3."""
        return layout.BORDERS in self.manifest.files

    @cached_property
    def part_document(self) -> Int[np.ndarray, " parts"]:
        """The document of every part."""
        return _numbers(self.part_table, "document")

    @cached_property
    def part_units(self) -> Int[np.ndarray, " parts_and_one"]:
        """The first unit of every part, and the number of units."""
        return np.append(_numbers(self.part_table, "first_unit"), self.manifest.units)

    @cached_property
    def recent_masks(self) -> Recent[Bool[np.ndarray, " rows"]]:
        """Recently used masks of the rows that pass a filter, for all snapshots (``engine.filter_masks``)."""
        return Recent(_RECENT_MASKS)

    def metadata(self, level: Level) -> MetadataValues | DocumentIds:
        """The metadata of parts, or of documents, or the ids of documents, for filters."""
        return self._metadata[level]

    @cached_property
    def _metadata(self) -> dict[Level, MetadataValues | DocumentIds]:
        return {
            "document": MetadataValues(self.document_table),
            "part": MetadataValues(self.part_table),
            "id": DocumentIds(self.document_table.column("id")),
        }

    @cached_property
    def document_parts(self) -> Int[np.ndarray, " documents_and_one"]:
        """The first part of every document, and the number of parts."""
        return np.searchsorted(self.part_document, np.arange(self.manifest.documents + 1))

    @cached_property
    def document_units(self) -> Int[np.ndarray, " documents_and_one"]:
        """The first unit of every document, and the number of units."""
        return self.part_units[self.document_parts]

    @cached_property
    def text_starts(self) -> Int[np.ndarray, " documents_and_one"]:
        """The start of every document's text in the concatenated text, and the end of the last one."""
        return np.append(_numbers(self.document_table, "text_start"), self.manifest.code_points)

    def _map_borders(self, units: int) -> UInt8[np.ndarray, " units"]:
        """The border code of every unit; all 0, no border, in a segment that stores none."""
        if self.has_borders:
            return mapped(self.folder / layout.BORDERS, np.uint8, (units,))
        codes = np.zeros(units, np.uint8)
        codes.flags.writeable = False  # as mapped arrays: kernels are compiled for one kind
        return codes

    def part_of(self, unit: int) -> int:
        """The part a unit belongs to."""
        return int(np.searchsorted(self.part_units, unit, side="right")) - 1

    def document_id(self, document: int) -> str:
        """The caller's id of a document."""
        return str(self.document_table.column("id")[document].as_py())

    def content_hash(self, document: int) -> str:
        """The content hash of a document."""
        return str(self.document_table.column("content_hash")[document].as_py())

    def char_span(self, units: UnitSpan) -> CharSpan:
        """The characters that a span of units covers, in its document."""
        return CharSpan(int(self.unit_spans[units.start, 0]), int(self.unit_spans[units.end - 1, 1]))

    def part_span(self, part: int) -> CharSpan:
        """The characters of a part, in its document."""
        return CharSpan(self.part_table.column("start")[part].as_py(), self.part_table.column("end")[part].as_py())

    def text(self, document: int, span: CharSpan) -> str:
        """A slice of a document's text."""
        start = int(self.text_starts[document])
        return self._text.read(start + span.start, start + span.end)

    def stored_text(self, document: int, span: CharSpan) -> str:
        """A slice of a document's text; empty where the segment stores no texts."""
        return self.text(document, span) if self.recipe.stores_text else ""

    def long_text(self, start: int, end: int) -> str:
        """A slice of the concatenated texts of all documents."""
        return self._text.read(start, end)

    def offset(self, document: int, code_point: int, unit: OffsetUnit) -> int:
        """A code point offset into a document, counted in another unit."""
        start = int(self.text_starts[document])
        return self._text.position(start + code_point, unit) - self._text.position(start, unit)

    def document_metadata(self, document: int) -> dict[str, JsonValue]:
        """A document's metadata, as it was given."""
        return row_metadata(self.document_table, document)

    def part_metadata(self, part: int) -> dict[str, JsonValue]:
        """A part's metadata, as it was given."""
        return row_metadata(self.part_table, part)


def _numbers(table: pa.Table, column: str) -> Int[np.ndarray, " rows"]:
    # Of numpy's own kind: to look a number up among numbers of another kind copies them all.
    return table.column(column).combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)


def _optional(path: Path, manifest: Manifest) -> UInt8[np.ndarray, " bytes"]:
    """The bytes of a file that not every segment has; none where it has none."""
    entry = manifest.files.get(path.name)
    return mapped(path, np.uint8, (entry.bytes,)) if entry else np.zeros(0, np.uint8)
