"""Answers about collections."""

from dataclasses import dataclass
from typing import Annotated, Literal

from app.answers import SpanUnits, described, optional
from indexer.nuggets.recipe import nugget_recipe
from indexer.types import Collection, Recipe


@dataclass(frozen=True, slots=True)
class Nuggets:
    """The nuggets of a collection."""

    ratio: Annotated[float, described("Of n tokens of a window, ceil(n * ratio) are nuggets.")]
    fingerprint: Annotated[str, described("Architecture and weights of the nuggets' encoder.")]
    dim: Annotated[int, described("The dimension of query vectors in mode maxsim.")]

    @classmethod
    def of(cls, recipe: Recipe) -> "Nuggets | None":
        """The nuggets of a recipe as an answer."""
        nuggets = nugget_recipe(recipe)
        return None if nuggets is None else cls(nuggets.ratio, nuggets.fingerprint, nuggets.dim)


@dataclass(frozen=True, slots=True)
class CollectionDescription:
    """A named set of documents, indexed with one encoder."""

    name: str
    encoder: str
    fingerprint: Annotated[str, described("Architecture, weights and splitter of the encoder.")]
    dim: Annotated[int, described("The dimension of query vectors.")]
    span_units: SpanUnits
    representations: Annotated[tuple[str, ...], described("The stored representations.")]
    nuggets: Annotated[Nuggets | None, described("Null if the collection has none; mode maxsim is then unavailable.")]
    store_text: Annotated[bool, described("False: texts of hits are restored from vectors.")]
    generation: Annotated[int, described("Increases with every change.")]
    documents: int
    units: Annotated[int, described("Stored units, including those of deleted documents.")]
    segments: int
    bytes: Annotated[int, described("Size on disk.")]
    degraded: Annotated[
        tuple[str, ...] | None,
        optional("The damage of segments that this server leaves out of searches; absent if there is none."),
    ] = None

    @classmethod
    def of(cls, collection: Collection, damages: tuple[str, ...] = ()) -> "CollectionDescription":
        """A collection as an answer, and the known damage of its segments."""
        recipe = collection.recipe
        return cls(
            name=collection.name,
            encoder=recipe.encoder,
            fingerprint=recipe.fingerprint,
            dim=recipe.dim,
            span_units=SpanUnits.of(recipe.bounds),
            representations=recipe.representations,
            nuggets=Nuggets.of(recipe),
            store_text=recipe.stores_text,
            generation=collection.generation,
            documents=collection.documents,
            units=collection.units,
            segments=collection.segments,
            bytes=collection.bytes,
            degraded=damages or None,
        )


@dataclass(frozen=True, slots=True)
class CollectionList:
    """Collections by name."""

    collections: tuple[CollectionDescription, ...]


@dataclass(frozen=True, slots=True)
class DeletedCollection:
    """The collection that was deleted."""

    name: str
    status: Literal["deleted"] = "deleted"
