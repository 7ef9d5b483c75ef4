"""Writes one segment: documents in, a folder of files out.

Text, offsets and vectors go to disk as they come, so that memory does not grow with a document's length. What is
derived from the stored vectors, the inverse norms, is computed at the end from the stored vectors.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
from jaxtyping import Float32, Int32

from indexer.engine import kernels
from indexer.segments import layout
from indexer.segments.columns import write_table
from indexer.segments.manifest import Manifest, describe, write_manifest
from indexer.segments.mapping import mapped
from indexer.segments.text import TextWriter
from indexer.types import DocumentRow, Recipe, SegmentInfo
from models.ops.quantization import quantize
from models.types import CharSpans, Document, Metadata

# Blocks per pass of the norm kernel: bounds its memory, whatever the size of the segment.
_BLOCKS_A_PASS = 512


@dataclass(frozen=True, slots=True)
class PartUnits:
    """The units of one part: character spans within the part, and how many hold an unknown token."""

    spans: CharSpans
    unknown: int


class SegmentWriter:
    """Use as a context manager: files are closed on leaving, ``finish`` makes the folder whole.

    For every document call ``add_document`` once and then ``add_vectors`` until all its units have vectors.
    """

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.rows: list[DocumentRow] = []
        self.units = 0
        self._recipe = recipe
        self._files = {name: (folder / name).open("wb") for name in _STREAMED}
        self._text = TextWriter(self._files[layout.TEXT])
        self._document_metadata: list[Metadata] = []
        self._part_metadata: list[Metadata] = []
        self._first_part: list[int] = []
        self._text_start: list[int] = []
        self._parts: list[tuple[int, int, int, int]] = []
        self._unknown_units = 0
        self._vectors = 0

    def __enter__(self) -> "SegmentWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()

    @property
    def is_whole(self) -> bool:
        """Whether every unit announced by a document has its vector."""
        return self._vectors == self.units

    def add_document(self, document: Document, content_hash: str, parts: Sequence[PartUnits]) -> None:
        """Write a document's text, offsets and metadata; its vectors follow by ``add_vectors``."""
        ordinal = len(self.rows)
        self.rows.append(DocumentRow(document.id, ordinal, content_hash))
        self._document_metadata.append(document.metadata)
        self._first_part.append(len(self._parts))
        self._text_start.append(self._text.append(document.text))
        start = 0
        for part, units in zip(document.parts, parts, strict=True):
            self._parts.append((ordinal, self.units, start, start + len(part.text)))
            self._part_metadata.append(part.metadata)
            self._files[layout.UNIT_SPANS].write((units.spans + start).astype("<u4").tobytes())
            self.units += len(units.spans)
            self._unknown_units += units.unknown
            start += len(part.text) + 1

    def add_vectors(self, vectors: Float32[np.ndarray, "units dim"]) -> None:
        """Quantise and append the vectors of the next units."""
        codes, scales = quantize(vectors)
        self._files[layout.VECTORS].write(codes.tobytes())
        self._files[layout.SCALES].write(scales.astype("<f4").tobytes())
        self._vectors += len(vectors)

    def finish(self) -> SegmentInfo:
        """Write the rest, force everything to disk, and seal it with a manifest."""
        if not self.is_whole:
            raise AssertionError(f"{self.units} units were announced, {self._vectors} vectors came")
        table = self._text.finish()
        (self.folder / layout.TEXT_BLOCKS).write_bytes(table.astype("<u8").tobytes())
        for file in self._files.values():
            file.close()
        self._write_tables()
        self._write_norms()
        names = sorted(path.name for path in self.folder.iterdir())
        manifest = Manifest(
            recipe=self._recipe,
            documents=len(self.rows),
            parts=len(self._parts),
            units=self.units,
            unknown_units=self._unknown_units,
            code_points=self._text.code_points,
            files={name: describe(self.folder / name) for name in names},
        )
        sha256 = write_manifest(self.folder, manifest)
        for name in [*names, layout.MANIFEST]:
            fsync(self.folder / name)
        fsync(self.folder)
        return SegmentInfo(self.folder.name, sha256, len(self.rows), len(self._parts), self.units, _bytes(self.folder))

    def _write_tables(self) -> None:
        parts = np.array(self._parts, np.int64).reshape(-1, 4).T
        names = ("document", "first_unit", "start", "end")
        write_table(
            self.folder / layout.PARTS,
            {name: pa.array(column) for name, column in zip(names, parts, strict=True)},
            self._part_metadata,
        )
        write_table(
            self.folder / layout.DOCUMENTS,
            {
                "id": pa.array([row.document_id for row in self.rows], pa.string()),
                "content_hash": pa.array([row.content_hash for row in self.rows], pa.string()),
                "first_part": pa.array(self._first_part, pa.int64()),
                "text_start": pa.array(self._text_start, pa.int64()),
            },
            self._document_metadata,
        )

    def _write_norms(self) -> None:
        bounds, dim = self._recipe.bounds, self._recipe.dim
        vectors = mapped(self.folder / layout.VECTORS, np.int8, (self.units, dim))
        scales = np.fromfile(self.folder / layout.SCALES, "<f4")
        room = self._room()
        with (
            (self.folder / layout.NORM_CODES).open("wb") as codes_file,
            (self.folder / layout.NORM_AFFINE).open("wb") as affine_file,
            (self.folder / layout.NORM_ERRORS).open("wb") as errors_file,
        ):
            stride = _BLOCKS_A_PASS * layout.BLOCK
            for begin in range(0, self.units, stride):
                # The last spans of a pass reach into the next: those units are seen, but start no block here.
                seen = slice(begin, min(self.units, begin + stride + bounds.longest - 1))
                codes, affine, errors = kernels.inverse_norms(
                    vectors[seen], scales[seen], room[seen], bounds.shortest, bounds.longest
                )
                blocks = -(-min(stride, self.units - begin) // layout.BLOCK)
                codes_file.write(codes[:blocks].tobytes())
                affine_file.write(affine[:blocks].astype("<f4").tobytes())
                errors_file.write(errors[:blocks].astype("<f4").tobytes())

    def _room(self) -> Int32[np.ndarray, " units"]:
        """How many units are left in every unit's part, itself included."""
        firsts = np.array([first for _, first, _, _ in self._parts] + [self.units], np.int64)
        ends = np.repeat(firsts[1:], np.diff(firsts))
        return (ends - np.arange(self.units)).astype(np.int32)


_STREAMED = (layout.VECTORS, layout.SCALES, layout.UNIT_SPANS, layout.TEXT)


def fsync(path: Path) -> None:
    """Force a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
