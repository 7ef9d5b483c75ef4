"""Types of storage: recipe, collection, segment, rows of a generation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Int

from models.text.units import NEWEST, TextForm
from models.types import JsonValue, SpanBounds

# The details of one representation in a recipe; always with its ``fingerprint``.
Details: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that affects the vectors of a collection, which has exactly one recipe.

    ``encoder`` is the name the registry knows, ``fingerprint`` what it resolved to (architecture, weights,
    splitter), ``details`` the details of every representation besides units, by name, and ``text`` how texts are read.

    >>> Recipe("slice", "f1", 384, details={"nuggets": {"fingerprint": "n1"}}).representations
    ('units', 'nuggets')
    """

    encoder: str
    fingerprint: str
    dim: int
    bounds: SpanBounds = field(default_factory=SpanBounds)
    details: Mapping[str, Details] = field(default_factory=dict, hash=False)
    text: TextForm = NEWEST

    @property
    def representations(self) -> tuple[str, ...]:
        """The names of the stored representations, which always include units."""
        return ("units", *sorted(self.details))

    @property
    def stores_text(self) -> bool:
        """False for a collection that keeps vectors instead of its texts, from which these are restored.

        >>> Recipe("slice", "f1", 384, details={"restorable": {"fingerprint": "r1", "store_text": False}}).stores_text
        False
        """
        return all(details.get("store_text", True) for details in self.details.values())


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents. ``id`` names its folder on disk, so that paths never come from requests.

    ``largest`` is the number of units of its largest segment.
    """

    id: str
    name: str
    recipe: Recipe
    generation: int
    documents: int = 0
    units: int = 0
    segments: int = 0
    bytes: int = 0
    largest: int = 0

    @property
    def unmerged(self) -> int:
        """The units outside the largest segment: what further merging could move."""
        return self.units - self.largest


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """The catalog's row of a segment."""

    name: str
    manifest_sha256: str
    documents: int
    parts: int
    units: int
    bytes: int


class SegmentPlace(NamedTuple):
    """A segment's collection, by its id, and its name in it."""

    collection_id: str
    name: str


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """One live document: its place (``ordinal`` within its segment) and its content hash."""

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
        """The number of documents without a tombstone."""
        return self.info.documents - len(self.tombstones)

    @property
    def live_units(self) -> int:
        """An estimate of their units: the catalog has no counts of single documents."""
        return self.info.units * self.live_documents // max(self.info.documents, 1)


@dataclass(frozen=True, slots=True)
class Generation:
    """The numbered set of live segments, and the recipe of all of them."""

    number: int
    segments: tuple[LiveSegment, ...]
    recipe: Recipe
    collection_id: str = ""
    collection: str = ""
