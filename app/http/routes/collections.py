"""``/collections``: create, list, describe and delete collections."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field
from starlette.responses import Response

from app.answers import described
from app.collections.answers import CollectionDescription, CollectionList, DeletedCollection
from app.collections.bounds import span_bounds
from app.collections.recipes import CollectionOptions
from app.collections.service import CollectionService
from app.http.auth import CallerDependency
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.http.schemas import CollectionPath, EncoderName
from app.recipes import RepresentationOptions
from app.requests import Body

router = api_router(prefix="/collections", tags=["collections"], responses=problems(401, 403))

_CREATED: dict[int | str, dict[str, Any]] = {201: {"model": CollectionDescription, "description": "Created"}}


class SpanUnitsOptions(Body):
    """The bounds of a span's length in units, both included."""

    shortest: int = Field(1, ge=1, description="The shortest span.")
    longest: int = Field(20, le=64, description="The longest span.")


@dataclass(frozen=True, kw_only=True)
class RecipeBody(RepresentationOptions):
    """A recipe; absent fields stay as they are, or have their defaults."""

    encoder: Annotated[
        EncoderName | None,
        described(
            "The encoder that reads documents and queries; without one the server's (`SPANSEEK_ENCODER`). One with a "
            "backbone of its own is named on the command line only."
        ),
    ] = None
    span_units: Annotated[SpanUnitsOptions | None, described("The bounds of a span's length, in units.")] = None

    def recipe(self) -> CollectionOptions:
        """The options for the service. Raises ``InvalidInput`` for bounds and representations that cannot be."""
        shortest, longest = (self.span_units.shortest, self.span_units.longest) if self.span_units else (None, None)
        if shortest is not None and longest is not None:
            span_bounds(shortest, longest)
        return CollectionOptions(
            self.encoder, shortest, longest, representations=self.chosen(), store_text=self.store_text
        )


@dataclass(frozen=True, kw_only=True)
class CreateCollectionBody(RecipeBody):
    """The recipe of a new collection; absent fields have their defaults. Models are as trained."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"span_units": {"shortest": 1, "longest": 12}}]}
    )


@router.get("", response_model=CollectionList, summary="List the collections")
def list_collections(caller: CallerDependency) -> Response:
    """List the collections that the caller may search."""
    caller.require_scope("search", confined=True)
    return answer_response(
        caller.backend.get(CollectionService).list(lambda name: caller.may("search", name), caller.reach)
    )


@router.get(
    "/{collection}", response_model=CollectionDescription, summary="Describe a collection", responses=problems(404, 422)
)
def get_collection(collection: CollectionPath, caller: CallerDependency) -> Response:
    """Describe a collection."""
    reach = caller.confine("search", collection)
    return answer_response(caller.backend.get(CollectionService).describe(collection, reach))


@router.put(
    "/{collection}",
    response_model=CollectionDescription,
    summary="Create a collection",
    responses=_CREATED | problems(409, 422, 507),
)
async def create_collection(
    collection: CollectionPath, caller: CallerDependency, body: CreateCollectionBody | None = None
) -> Response:
    """Create a collection: 201, or 200 if it exists with the same recipe."""
    caller.require_name(collection, "collection")
    backend, options = caller.backend, (body or CreateCollectionBody()).recipe()
    created = await backend.writing.run(lambda: backend.get(CollectionService).create(collection, options))
    return answer_response(CollectionDescription.of(created.collection), 201 if created.is_new else 200)


@router.delete(
    "/{collection}", response_model=DeletedCollection, summary="Delete a collection", responses=problems(404, 409, 422)
)
async def delete_collection(collection: CollectionPath, caller: CallerDependency) -> Response:
    """Delete a collection with all its data; running searches finish."""
    caller.require("admin", collection)
    backend = caller.backend
    deleted = await backend.writing.run(lambda: backend.get(CollectionService).delete(collection))
    return answer_response(deleted)
