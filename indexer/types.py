"""The nouns of storage: recipe, collection, segment, snapshot rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from models.types import JsonValue, SpanBounds

# What a recipe says of one representation; always with its ``fingerprint``.
Details: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How every vector of a collection was made; one collection, one recipe.

    ``encoder`` is the name the registry knows, ``fingerprint`` what it resolved to (architecture, weights,
    splitter), ``details`` how every representation besides units was made, by name.

    >>> Recipe("slice", "f1", 384, details={"nuggets": {"fingerprint": "n1"}}).representations
    ('units', 'nuggets')
    """

    encoder: str
    fingerprint: str
    dim: int
    bounds: SpanBounds = field(default_factory=SpanBounds)
    details: Mapping[str, Details] = field(default_factory=dict, hash=False)

    @property
    def representations(self) -> tuple[str, ...]:
        """Names of what is stored of a document; units always are."""
        return ("units", *sorted(self.details))


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
