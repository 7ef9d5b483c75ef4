"""The interface of representations: rows that a segment stores beside its units.

A representation owns its options, the models that make its rows, and its files. It is a class that an entry point of
the group ``spanseek.representations`` names, and is made without arguments.

Rows belong to units, and so to documents. A representation writes its rows to files of its own as their units are
written, copies the rows of live documents in a merge, and opens them with the segment. The manifest has its files, like
all others: their checksums are not its concern.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int

from indexer.representations.stored import StoredDetails
from indexer.types import Details, Recipe
from models.encoders.passes import Maker
from models.encoders.registry import Models
from models.text.tokens import UnitTokens
from models.text.units import NEWEST, TextForm
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
    is what the forward pass gave for the representation, if anything, and ``form`` how the collection reads texts.
    """

    units: UnitTokens
    text: str
    part_start: int
    first_unit: int
    vectors: Float32[np.ndarray, "tokens dim"]
    output: Any
    form: TextForm = NEWEST


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
class Storing(Protocol):
    """A segment, as far as representations know it."""

    @property
    def stored(self) -> Mapping[str, Stored]:
        """The stored rows of every representation, by name."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a representation that has none."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request of a recipe for a representation.

    ``options`` are an object of its own class. ``before`` has the details of the collection, if it exists and has the
    representation. ``texts`` are a sample of the documents of a new collection, to which models may be fitted, unless
    they shall stay ``as_trained``. ``store_text`` says whether the collection stores its texts.
    """

    options: Any
    encoder: str
    before: Details | None = None
    texts: Iterable[str] | None = None
    as_trained: bool = False
    store_text: bool = True


@runtime_checkable
class Representation(Protocol[RowsT]):
    """One kind of rows. Subclass it explicitly to inherit the defaults, which suit rows that follow from texts alone.

    ``name`` is the key of its details in recipes, manifests, requests and answers. ``options`` is a dataclass of what a
    recipe may choose; details have its fields, too. ``alias`` names an older field of requests, if there is one: a
    flag, or the value of the first option. ``is_default`` says whether new collections have it unless they are to have
    none, ``needs_text`` whether it cannot be without stored texts, and ``restores_text`` whether it gives them back.
    ``answer`` is a dataclass of details, by which descriptions of collections show them, and ``stored`` their fields as
    recipes store them: others are refused where a catalog or a snapshot is read.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    options: ClassVar[type[Any]] = NoOptions
    alias: ClassVar[str] = ""
    is_default: ClassVar[bool] = False
    needs_text: ClassVar[bool] = True
    restores_text: ClassVar[bool] = False
    answer: ClassVar[type[Any] | None] = None
    stored: ClassVar[type[StoredDetails]] = StoredDetails

    def details(self, wanted: Wanted, models: Models) -> Details:
        """The details of a recipe. Their ``fingerprint`` identifies what affects the rows, except options."""

    def chosen(self, details: Details) -> Details:
        """The options with which these details were made."""
        return {each.name: details[each.name] for each in fields(self.options) if each.name in details}

    def maker(self, recipe: Recipe, models: Models) -> Maker:
        """The maker of a collection's rows. Raises ``RecipeMismatch`` if weights have changed since."""
        return Maker(recipe.details[self.name])

    def keep(self, details: Details, models: Models) -> None:
        """Called when a new collection is in the catalog: store what its details refer to."""
        return None

    def forget(self, details: Details, models: Models, is_used: Callable[[], bool]) -> None:
        """Called when a collection is gone: remove what its details refer to, unless another one uses it."""
        return None

    def texts(self, recipe: Recipe, models: Models) -> Any:  # noqa: ANN401
        """The texts of a collection, restored (``indexer.engine.place.Texts``), where ``restores_text``."""
        raise NotImplementedError(f"{self.name} restores no texts")

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
