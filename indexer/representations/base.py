"""The interface of representations: rows that a segment stores beside its units.

Rows belong to units, and so to documents. A representation writes its rows to files of its own as their units are
written, copies the rows of live documents in a merge, and opens them with the segment. The manifest has its files, like
all others: their checksums are not its concern.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int

from indexer.types import Details
from models.text.tokens import UnitTokens
from models.types import CharSpans

# What one representation has in an opened segment: its own type.
Stored: TypeAlias = Any


@runtime_checkable
class Rows(Protocol):
    """Rows on their way into a segment, of a type that only their representation knows.

    Units are counted from the first that is written with them.
    """

    def __len__(self) -> int: ...


RowsT = TypeVar("RowsT", bound=Rows)
Appended = TypeVar("Appended", bound=Rows, contravariant=True)


@dataclass(frozen=True, slots=True)
class EncodedWindow:
    """A window after its forward pass: the units that are stored from it, and what the pass gave.

    ``text`` is its part, to which the characters of ``units`` refer. ``first_unit`` is the number of its first
    unit among those encoded together, ``part_start`` the character at which its part begins in the document. ``output``
    is what the forward pass gave for the representation, if anything.
    """

    units: UnitTokens
    text: str
    part_start: int
    first_unit: int
    vectors: Float32[np.ndarray, "tokens dim"]
    output: Any


@dataclass(frozen=True, slots=True)
class LiveRows:
    """The rows of one segment that take part in a merge: their ``units`` belong to live documents.

    ``stored`` is None for a segment of before its collection had the representation. ``parts`` reads the texts of the
    live parts, each with the characters of its units.
    """

    stored: Stored
    units: Int[np.ndarray, "runs 2"]
    parts: Callable[[], Iterable[tuple[str, CharSpans]]]


@runtime_checkable
class RowWriter(Protocol[Appended]):
    """Appends rows to the files of a segment that is being written."""

    def append(self, rows: Appended, first_unit: int) -> None:
        """Append rows; their units are counted from this one of the segment's."""

    def finish(self) -> int:
        """Write what follows from the rows, such as an index, close all files, and return the number of rows."""

    def close(self) -> None:
        """Close all files; again, if need be."""


@runtime_checkable
class Representation(Protocol[RowsT]):
    """One kind of rows. ``details`` come from the collection's recipe."""

    @property
    def name(self) -> str:
        """The key of its details in recipes and manifests."""

    def rows(self, window: EncodedWindow) -> RowsT:
        """Make the rows of a window."""

    def join(self, rows: Sequence[RowsT], details: Details) -> RowsT:
        """Put the rows of several windows, which count their units from the same one, behind each other."""

    def write(self, folder: Path, details: Details) -> RowWriter[RowsT]:
        """Begin the files of a segment."""

    def merge(self, folder: Path, details: Details, sources: Sequence[LiveRows]) -> int:
        """Write the live rows of several segments as :meth:`write` would have, and return their number."""

    def open(self, folder: Path, details: Details, count: int, files: Collection[str]) -> Stored:
        """Map the files of a segment of ``count`` rows; raises ``SegmentCorrupt`` where their sizes do not fit."""
