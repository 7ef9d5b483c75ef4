"""``/collections``: what can be searched."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.schemas import CollectionName
from indexer.nuggets.recipe import NuggetRecipe, nugget_recipe
from indexer.types import Collection

router = APIRouter(prefix="/collections", tags=["collections"])


class SpanUnits(BaseModel):
    """How many units a span may hold, both included."""

    shortest: int
    longest: int


class Nuggets(BaseModel):
    """How the nuggets of a collection were made."""

    ratio: float = Field(description="Of n tokens of a window, ceil(n * ratio) are kept.")
    fingerprint: str = Field(description="Architecture and weights of the nuggets' encoder.")
    dim: int = Field(description="How many numbers a query vector of mode maxsim must have.")

    @classmethod
    def of(cls, made: NuggetRecipe | None) -> "Nuggets | None":
        """A recipe as it is shown."""
        return None if made is None else cls(ratio=made.ratio, fingerprint=made.fingerprint, dim=made.dim)


class CollectionBody(BaseModel):
    """A named set of documents, indexed with one encoder."""

    name: str
    encoder: str
    fingerprint: str = Field(description="Architecture, weights and splitter of the encoder.")
    dim: int = Field(description="How many numbers a query vector must have.")
    span_units: SpanUnits
    representations: list[str] = Field(description="What is stored of every document.")
    nuggets: Nuggets | None = Field(description="Null where the collection keeps none, and mode maxsim is unavailable.")
    generation: int = Field(description="Grows with every change.")
    documents: int
    units: int = Field(description="Units stored, those of deleted documents included.")
    segments: int
    bytes: int = Field(description="Size on disk.")

    @classmethod
    def of(cls, collection: Collection) -> "CollectionBody":
        """A collection as it is shown."""
        recipe = collection.recipe
        return cls(
            name=collection.name,
            encoder=recipe.encoder,
            fingerprint=recipe.fingerprint,
            dim=recipe.dim,
            span_units=SpanUnits(shortest=recipe.bounds.shortest, longest=recipe.bounds.longest),
            representations=list(recipe.representations),
            nuggets=Nuggets.of(nugget_recipe(recipe)),
            generation=collection.generation,
            documents=collection.documents,
            units=collection.units,
            segments=collection.segments,
            bytes=collection.bytes,
        )


class CollectionsBody(BaseModel):
    """Collections by name."""

    collections: list[CollectionBody]


@router.get("", summary="List the collections", responses=problems(401, 403, 503))
def list_collections(caller: CallerDependency) -> CollectionsBody:
    """All collections that the caller may search."""
    caller.require_scope("search")
    found = caller.backend.store.catalog.collections()
    return CollectionsBody(collections=[CollectionBody.of(each) for each in found if caller.may("search", each.name)])


@router.get("/{collection}", summary="Describe a collection", responses=problems(401, 403, 404, 422, 503))
def get_collection(
    collection: Annotated[CollectionName, Path(description="The collection's name.")], caller: CallerDependency
) -> CollectionBody:
    """One collection."""
    caller.require("search", collection)
    return CollectionBody.of(caller.backend.store.catalog.collection(collection))
