"""The nouns of storage: recipe, collection, segment, snapshot rows."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int

from models.types import SpanBounds


@dataclass(frozen=True, slots=True)
class NuggetRecipe:
    """How the nuggets of a collection were made: of every window of n tokens, ceil(n * ratio) vectors are kept.

    >>> NuggetRecipe("nugget.v1-5c2b", 384, 1.5)
    Traceback (most recent call last):
    ValueError: a nugget ratio must lie in (0, 1], not 1.5
    """

    fingerprint: str
    dim: int
    ratio: float

    def __post_init__(self) -> None:
        if not 0 < self.ratio <= 1:
            raise ValueError(f"a nugget ratio must lie in (0, 1], not {self.ratio:g}")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How every vector of a collection was made; one collection, one recipe.

    ``encoder`` is the name the registry knows, ``fingerprint`` what it resolved to (architecture, weights,
    splitter), ``representations`` what is stored of a document, ``nuggets`` how its nuggets were made, if it has any.
    """

    encoder: str
    fingerprint: str
    dim: int
    bounds: SpanBounds = field(default_factory=SpanBounds)
    representations: tuple[str, ...] = ("units",)
    nuggets: NuggetRecipe | None = None

    def with_nuggets(self, nuggets: NuggetRecipe) -> "Recipe":
        """The same recipe, with nuggets beside the units."""
        return replace(self, representations=("units", "nuggets"), nuggets=nuggets)


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents. ``id`` names its folder on disk, so that paths never come from requests."""

    id: str
    name: str
    recipe: Recipe
    generation: int
    documents: int = 0
    units: int = 0
    segments: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """What the catalog knows of a segment."""

    name: str
    manifest_sha256: str
    documents: int
    parts: int
    units: int
    bytes: int


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One live document: where it lies (``ordinal`` within its segment) and what it held."""

    document_id: str
    ordinal: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """A segment of one generation, with the ordinals of its deleted or replaced documents."""

    info: SegmentInfo
    tombstones: Int[np.ndarray, " dead"]

    @property
    def live_documents(self) -> int:
        """How many documents have no tombstone."""
        return self.info.documents - len(self.tombstones)

    @property
    def live_units(self) -> int:
        """About how many units belong to them: SQL does not know the units of single documents."""
        return self.info.units * self.live_documents // max(self.info.documents, 1)


@dataclass(frozen=True, slots=True)
class Generation:
    """The numbered set of live segments."""

    number: int
    segments: tuple[LiveSegment, ...]
