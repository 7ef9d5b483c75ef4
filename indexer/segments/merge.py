"""One segment from several: the rows of live documents, copied. Nothing is encoded again.

Vectors, offsets and texts are copied in pieces, so that memory does not grow with them; held at once are the tables
alone, some dozens of bytes a part. The result is, bit for bit, what ``SegmentWriter`` would have made of the live
documents; inverse norms are computed anew, because they lie in blocks that run across documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

from indexer.arrays import starts_of
from indexer.representations.base import LiveRows
from indexer.representations.registry import representation
from indexer.segments import layout
from indexer.segments.columns import merged_metadata, metadata_columns, stacked, write_table
from indexer.segments.norms import write_norms
from indexer.segments.reader import Segment
from indexer.segments.seal import Derive, RowCounts, seal
from indexer.segments.text import TextWriter
from indexer.types import DocumentRow, Recipe, SegmentInfo
from models.failpoints import failpoint
from models.interruption import checkpoint
from models.text.borders import border_codes
from models.types import CharSpans, Metadata

_UNITS_A_PIECE = 16_384
_CODE_POINTS_A_PIECE = 32 * layout.TEXT_BLOCK


@dataclass(frozen=True, slots=True)
class Source:
    """A segment, and which of its documents are alive."""

    segment: Segment
    live: Bool[np.ndarray, " documents"]

    @property
    def runs(self) -> Int[np.ndarray, "runs 2"]:
        """The live documents as half-open ranges."""
        return np.flatnonzero(np.diff(self.live.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)

    @property
    def live_parts(self) -> Bool[np.ndarray, " parts"]:
        """A mask of the parts of live documents."""
        return self.live[self.segment.part_document]


@dataclass(frozen=True, slots=True)
class Relabelled:
    """Other metadata of a document, and the content hash that it has with them."""

    metadata: Metadata
    content_hash: str


def merge(
    folder: Path,
    recipe: Recipe,
    sources: Sequence[Source],
    more: Sequence[Derive] = (),
    relabelled: Mapping[str, Relabelled] | None = None,
) -> tuple[SegmentInfo, list[DocumentRow]]:
    """Write the segment ``folder`` of the live documents of all sources, in their order; ``more`` adds files to it.

    ``relabelled``, if given, has the metadata of every one of these documents, by id, instead of the sources' metadata.
    """
    folder.mkdir(parents=True)
    with failpoint("write", folder):
        _copy_units(folder, sources)
    copied = {name: _copy_rows(folder, recipe, name, sources) for name in recipe.details}
    code_points = _copy_texts(folder, recipe, sources)
    part_units = _write_parts(folder, sources)
    rows = _write_documents(folder, sources, relabelled)
    write_norms(folder, recipe, part_units)
    _copy_borders(folder, sources)
    for derive in more:
        derive(folder, recipe, part_units)
    # Parts do not say how many unknown units they have: dead documents count on.
    unknown = min(sum(source.segment.manifest.unknown_units for source in sources), int(part_units[-1]))
    counts = RowCounts(len(rows), len(part_units) - 1, int(part_units[-1]), unknown, code_points, copied)
    return seal(folder, recipe, counts), rows


def _copy_units(folder: Path, sources: Sequence[Source]) -> None:
    with ExitStack() as stack:
        files = [stack.enter_context((folder / name).open("wb")) for name in _OF_UNITS]
        for source in sources:
            segment = source.segment
            arrays = (segment.vectors, segment.scales, segment.unit_spans)
            for piece in _pieces(segment.document_units[source.runs], _UNITS_A_PIECE):
                for file, array in zip(files, arrays, strict=True):
                    file.write(array[piece].tobytes())


def _copy_borders(folder: Path, sources: Sequence[Source]) -> None:
    """Copy the border codes of live documents; a segment without codes gets them from its texts."""
    with (folder / layout.BORDERS).open("wb") as file:
        for source in sources:
            segment = source.segment
            if segment.has_borders:
                for piece in _pieces(segment.document_units[source.runs], _UNITS_A_PIECE):
                    file.write(segment.borders[piece].tobytes())
            else:
                for text, units in _part_texts(source):
                    file.write(border_codes(text, units, segment.recipe.text).tobytes())


def _part_texts(source: Source) -> Iterator[tuple[str, CharSpans]]:
    """The texts of live parts, each with the characters of its units."""
    segment = source.segment
    for part in np.flatnonzero(source.live_parts).tolist():
        checkpoint()
        span = segment.part_span(part)
        units = segment.unit_spans[slice(*segment.part_units[part : part + 2].tolist())].astype(np.int64)
        yield segment.text(int(segment.part_document[part]), span), units - span.start


def _copy_rows(folder: Path, recipe: Recipe, name: str, sources: Sequence[Source]) -> int:
    """Copy the rows that a representation has of live documents, and return how many there are."""
    live = [
        LiveRows(each.segment.stored.get(name), each.segment.document_units[each.runs], partial(_part_texts, each))
        for each in sources
    ]
    return representation(name).merge(folder, recipe.details[name], live)


def _copy_texts(folder: Path, recipe: Recipe, sources: Sequence[Source]) -> int:
    """Copy the texts of live documents, if the collection stores them, and return the number of their code points."""
    with (folder / layout.TEXT).open("wb") as file:
        writer = TextWriter(file)
        for source in sources if recipe.stores_text else ():
            for piece in _pieces(source.segment.text_starts[source.runs], _CODE_POINTS_A_PIECE):
                writer.append(source.segment.long_text(piece.start, piece.stop))
        table = writer.finish()
    (folder / layout.TEXT_BLOCKS).write_bytes(table.astype("<u8").tobytes())
    return sum(int(np.diff(source.segment.text_starts)[source.live].sum()) for source in sources)


def _pieces(ranges: Int[np.ndarray, "runs 2"], longest: int) -> Iterator[slice]:
    """Half-open ranges, cut where they are longer than one piece may be."""
    for begin, end in ranges.tolist():
        for start in range(begin, end, longest):
            checkpoint()
            yield slice(start, min(start + longest, end))


def _write_parts(folder: Path, sources: Sequence[Source]) -> Int[np.ndarray, " parts_and_one"]:
    """Write the table of parts, and return the first unit of every part and the number of units."""
    tables = [source.segment.part_table.filter(pa.array(source.live_parts)) for source in sources]
    sizes = [np.diff(source.segment.part_units)[source.live_parts] for source in sources]
    part_units = starts_of(np.concatenate(sizes))
    parts_each = np.concatenate([_parts_each(source) for source in sources])
    columns = {
        "document": pa.array(np.repeat(np.arange(len(parts_each)), parts_each)),
        "first_unit": pa.array(part_units[:-1]),
        "start": stacked(tables, "start"),
        "end": stacked(tables, "end"),
    }
    write_table(folder / layout.PARTS, columns | merged_metadata(tables))
    return part_units


def _write_documents(
    folder: Path, sources: Sequence[Source], relabelled: Mapping[str, Relabelled] | None
) -> list[DocumentRow]:
    tables = [source.segment.document_table.filter(pa.array(source.live)) for source in sources]
    lengths = [np.diff(source.segment.text_starts)[source.live] for source in sources]
    columns = {
        "id": stacked(tables, "id"),
        "content_hash": stacked(tables, "content_hash"),
        "first_part": pa.array(starts_of(np.concatenate([_parts_each(source) for source in sources]))[:-1]),
        "text_start": pa.array(starts_of(np.concatenate(lengths))[:-1]),
    }
    metadata = merged_metadata(tables)
    if relabelled is not None:
        changed = [relabelled[id] for id in columns["id"].to_pylist()]
        columns["content_hash"] = pa.array([each.content_hash for each in changed])
        metadata = metadata_columns([each.metadata for each in changed])
    write_table(folder / layout.DOCUMENTS, columns | metadata)
    pairs = zip(columns["id"].to_pylist(), columns["content_hash"].to_pylist(), strict=True)
    return [DocumentRow(id, ordinal, content_hash) for ordinal, (id, content_hash) in enumerate(pairs)]


def _parts_each(source: Source) -> Int[np.ndarray, " live"]:
    return np.diff(source.segment.document_parts)[source.live]


_OF_UNITS = (layout.VECTORS, layout.SCALES, layout.UNIT_SPANS)
