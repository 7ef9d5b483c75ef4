"""Answers about collections."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from app.answers import SpanUnits, described, extended, optional
from indexer.representations.registry import representations
from indexer.types import Collection, Recipe


def _shown() -> dict[str, Any]:
    """The fields of representations that show their details."""
    return {
        name: Annotated[each.answer | None, described(f"Null if the collection has no {name}.")]
        for name, each in representations().items()
        if each.answer is not None
    }


@dataclass(frozen=True, slots=True)
@extended(_shown(), after="representations")
class CollectionDescription:
    """A named set of documents, indexed with one encoder."""

    name: str
    encoder: str
    fingerprint: Annotated[str, described("Architecture, weights and splitter of the encoder.")]
    dim: Annotated[int, described("The dimension of query vectors.")]
    span_units: SpanUnits
    representations: Annotated[tuple[str, ...], described("The stored representations.")]
    store_text: Annotated[bool, described("False: texts of hits are restored from vectors.")]
    generation: Annotated[int, described("Increases with every change.")]
    documents: int
    units: Annotated[int, described("Stored units, deleted documents included.")]
    segments: Annotated[int | None, optional("Absent for keys with a filter, which count their own documents alone.")]
    bytes: Annotated[int | None, optional("Size on disk; absent for keys with a filter.")]
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
            **_details(recipe),
            store_text=recipe.stores_text,
            generation=collection.generation,
            documents=collection.documents,
            units=collection.units,
            segments=collection.segments,
            bytes=collection.bytes,
            degraded=damages or None,
        )


def _details(recipe: Recipe) -> dict[str, Any]:
    """The details of a recipe as answers."""
    shown = {name: each.answer for name, each in representations().items() if each.answer is not None}
    return {name: kind(**recipe.details[name]) if name in recipe.details else None for name, kind in shown.items()}


@dataclass(frozen=True, slots=True)
class CollectionList:
    """Collections by name."""

    collections: tuple[CollectionDescription, ...]
    damaged: Annotated[
        tuple[str, ...] | None,
        optional("What is wrong with collections whose rows cannot be read; absent if there are none."),
    ] = None


@dataclass(frozen=True, slots=True)
class DeletedCollection:
    """The collection that was deleted."""

    name: str
    status: Literal["deleted"] = "deleted"
