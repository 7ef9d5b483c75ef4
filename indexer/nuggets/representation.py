"""Nuggets as a representation of segments."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from indexer.nuggets.files import COLUMNS, NuggetWriter, StoredNuggets
from indexer.nuggets.recipe import NAME, NuggetRecipe
from indexer.nuggets.rows import NuggetRows, joined, rows_of
from indexer.representations.base import EncodedWindow, Representation
from indexer.representations.columns import ColumnRepresentation
from indexer.segments.reader import Segment
from indexer.types import Details


class NuggetRepresentation(ColumnRepresentation):
    """Token vectors that represent windows: files of int8 vectors, and a FAISS index if there are many."""

    name = NAME
    columns = COLUMNS
    rows_a_piece = 16_384

    def rows(self, window: EncodedWindow) -> NuggetRows:
        """Return the nuggets of a window that are stored."""
        return rows_of(window)

    def join(self, rows: Sequence[NuggetRows], details: Details) -> NuggetRows:
        """Put the nuggets of windows behind each other."""
        return joined(rows, _made(details).dim)

    def write(self, folder: Path, details: Details) -> NuggetWriter:
        """Begin the files of a segment."""
        return NuggetWriter(folder, _made(details).dim)

    def open(self, folder: Path, details: Details, count: int, files: Collection[str]) -> StoredNuggets:
        """Map the files of a segment; raises ``SegmentCorrupt`` where their sizes do not fit."""
        return StoredNuggets(folder, count, _made(details).dim, files)


def stored_nuggets(segment: Segment) -> StoredNuggets:
    """Return the nuggets of a segment whose collection has some."""
    stored: StoredNuggets = segment.stored[NAME]
    return stored


def _made(details: Details) -> NuggetRecipe:
    values: Any = details
    return NuggetRecipe(**values)


REPRESENTATION: Representation[NuggetRows] = NuggetRepresentation()
