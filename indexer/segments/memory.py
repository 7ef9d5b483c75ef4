"""A segment of one document in memory: the arrays that a written one maps, and no files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Float32, Shaped

from indexer.representations.base import Stored
from indexer.segments import layout
from indexer.segments.manifest import Manifest, SegmentKey
from indexer.segments.norms import BlockNorms, norms_by_pass
from indexer.segments.reader import Segment
from indexer.segments.tables import DocumentEntry, PartRow, document_columns, part_columns
from indexer.segments.text import PlainText
from indexer.segments.writer import PartUnits
from indexer.types import Recipe
from models.ops.quantization import quantize
from models.text.borders import border_codes
from models.types import Document


class MemorySegment(Segment):
    """One document as a segment, for engines that read nothing but arrays.

    Its arrays are, bit for bit, those of a written segment that holds this document alone. ``vectors`` are those of
    the units of all parts; ``stored`` is what other representations have in it.
    """

    def __init__(
        self,
        document: Document,
        parts: Sequence[PartUnits],
        vectors: Float32[np.ndarray, "units dim"],
        recipe: Recipe,
        stored: Mapping[str, Stored] | None = None,
    ) -> None:
        self.key, self.recipe, self.stored = SegmentKey(Path(), ""), recipe, dict(stored or {})
        self.folder = self.key.folder
        rows = _part_rows(document, parts)
        self.vectors, self.scales = map(_frozen, quantize(vectors))
        part_units = np.array([*(row.first_unit for row in rows), len(vectors)], np.int64)
        norms = _joined(list(norms_by_pass(self.vectors, self.scales, part_units, recipe.bounds)), recipe)
        self.norm_codes, self.norm_affine, self.norm_errors = map(_frozen, norms)
        spans = [(units.spans + row.start).astype("<u4") for row, units in zip(rows, parts, strict=True)]
        self.unit_spans = _frozen(np.concatenate([np.zeros((0, 2), "<u4"), *spans]))
        borders = [
            border_codes(part.text, units.spans, recipe.text) for part, units in zip(document.parts, parts, strict=True)
        ]
        self.borders = _frozen(np.concatenate([np.zeros(0, np.uint8), *borders]))
        self.windows = np.zeros(0, np.uint8)
        unknown = sum(units.unknown for units in parts)
        self.manifest = Manifest(recipe, 1, len(rows), len(vectors), unknown, len(document.text), {})
        self.part_table = pa.table(part_columns(rows, [part.metadata for part in document.parts]))
        self.document_table = pa.table(document_columns([DocumentEntry(document.id, "", 0, 0)], [document.metadata]))
        self._text = PlainText(document.text)

    @property
    def has_borders(self) -> bool:
        """Always True: borders are computed with the segment."""
        return True


def _part_rows(document: Document, parts: Sequence[PartUnits]) -> list[PartRow]:
    rows: list[PartRow] = []
    unit = start = 0
    for part, units in zip(document.parts, parts, strict=True):
        rows.append(PartRow(0, unit, start, start + len(part.text)))
        unit += len(units.spans)
        start += len(part.text) + 1
    return rows


def _joined(passes: Sequence[BlockNorms], recipe: Recipe) -> BlockNorms:
    lengths = len(recipe.bounds.lengths)
    none = BlockNorms(
        np.zeros((0, lengths, layout.BLOCK), np.uint8), np.zeros((0, lengths, 2), np.float32), np.zeros(0, np.float32)
    )
    return BlockNorms(*(np.concatenate(values) for values in zip(none, *passes, strict=True)))


def _frozen(array: Shaped[np.ndarray, "*shape"]) -> Shaped[np.ndarray, "*shape"]:
    """The array, contiguous and read-only, as mapped files are: kernels are compiled for one kind."""
    contiguous = np.ascontiguousarray(array)
    contiguous.flags.writeable = False
    return contiguous
