"""Writes one segment: documents in, a folder of files out.

Text, offsets and vectors go to disk as they come, so that memory does not grow with a document's length. What is
derived from the stored vectors, the inverse norms, is computed at the end from the stored vectors.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from jaxtyping import Float32

from indexer.representations.base import Rows
from indexer.representations.registry import representation
from indexer.segments import layout
from indexer.segments.columns import write_table
from indexer.segments.norms import write_norms
from indexer.segments.seal import RowCounts, seal
from indexer.segments.tables import DocumentEntry, PartRow, document_columns, part_columns
from indexer.segments.text import TextWriter
from indexer.types import DocumentRow, Recipe, SegmentInfo
from models.failpoints import failpoint
from models.ops.quantization import quantize
from models.text.borders import border_codes
from models.types import CharSpans, Document, Metadata

# Vectors that are quantised at once: so few that what is made of them on the way stays in the processor's cache.
_UNITS_AT_ONCE = 1_024


@dataclass(frozen=True, slots=True)
class PartUnits:
    """The units of one part: character spans within the part, and how many hold an unknown token."""

    spans: CharSpans
    unknown: int


class SegmentWriter:
    """Writes a segment. Use it as a context manager: leaving closes the files, and ``finish`` completes the folder.

    For every document, call ``add_document`` once, and then ``add_vectors`` until all its units have vectors.
    """

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.rows: list[DocumentRow] = []
        self.units = 0
        self._recipe = recipe
        self._files = {name: (folder / name).open("wb") for name in _STREAMED}
        self._text = TextWriter(self._files[layout.TEXT], store=recipe.stores_text)
        self._rows = {name: representation(name).write(folder, details) for name, details in recipe.details.items()}
        self._document_metadata: list[Metadata] = []
        self._part_metadata: list[Metadata] = []
        self._documents: list[DocumentEntry] = []
        self._parts: list[PartRow] = []
        self._unknown_units = 0
        self._vectors = 0

    def __enter__(self) -> "SegmentWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as stack:  # closes the others where one fails, which frees their space
            for file in self._files.values():
                stack.callback(file.close)
            for rows in self._rows.values():
                stack.callback(rows.close)

    @property
    def is_whole(self) -> bool:
        """True if every unit of the documents has its vector."""
        return self._vectors == self.units

    def add_document(self, document: Document, content_hash: str, parts: Sequence[PartUnits]) -> None:
        """Write a document's text, offsets and metadata; its vectors follow by ``add_vectors``."""
        ordinal = len(self.rows)
        self.rows.append(DocumentRow(document.id, ordinal, content_hash))
        self._document_metadata.append(document.metadata)
        text_start = self._text.append(document.text)
        self._documents.append(DocumentEntry(document.id, content_hash, len(self._parts), text_start))
        start = 0
        for part, units in zip(document.parts, parts, strict=True):
            self._parts.append(PartRow(ordinal, self.units, start, start + len(part.text)))
            self._part_metadata.append(part.metadata)
            self._files[layout.UNIT_SPANS].write((units.spans + start).astype("<u4").tobytes())
            self._files[layout.BORDERS].write(border_codes(part.text, units.spans, self._recipe.text).tobytes())
            self.units += len(units.spans)
            self._unknown_units += units.unknown
            start += len(part.text) + 1

    def add_vectors(self, vectors: Float32[np.ndarray, "units dim"], rows: Mapping[str, Rows] | None = None) -> None:
        """Quantise and append the vectors of the next units, and the rows of every representation of the recipe."""
        for name, of_name in (rows or {}).items():
            self._rows[name].append(of_name, first_unit=self._vectors)
        with failpoint("write", self.folder / layout.VECTORS):
            for begin in range(0, len(vectors), _UNITS_AT_ONCE):
                codes, scales = quantize(vectors[begin : begin + _UNITS_AT_ONCE])
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
        part_units = np.array([*(part.first_unit for part in self._parts), self.units], np.int64)
        write_norms(self.folder, self._recipe, part_units)
        rows = {name: writer.finish() for name, writer in self._rows.items()}
        counts = RowCounts(
            len(self.rows),
            len(self._parts),
            self.units,
            self._unknown_units,
            self._text.code_points,
            rows,
        )
        return seal(self.folder, self._recipe, counts)

    def _write_tables(self) -> None:
        write_table(self.folder / layout.PARTS, part_columns(self._parts, self._part_metadata))
        write_table(self.folder / layout.DOCUMENTS, document_columns(self._documents, self._document_metadata))


_STREAMED = (layout.VECTORS, layout.SCALES, layout.UNIT_SPANS, layout.BORDERS, layout.TEXT)
