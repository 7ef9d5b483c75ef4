"""``/collections``: create, list, describe and delete collections."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import ConfigDict, Field, FiniteFloat
from starlette.responses import Response

from app.collections.answers import CollectionDescription, CollectionList, DeletedCollection
from app.collections.service import CollectionOptions
from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.responses import answer_response
from app.http.schemas import EncoderName
from app.requests import Body, CollectionName

router = APIRouter(prefix="/collections", tags=["collections"])
Name = Annotated[CollectionName, Path(description="The collection's name.")]

_CREATED: dict[int | str, dict[str, Any]] = {201: {"model": CollectionDescription, "description": "Created"}}


class SpanUnitsOptions(Body):
    """The bounds of a span's length in units, both included."""

    shortest: int = Field(1, ge=1, description="Units of the shortest span.")
    longest: int = Field(20, le=64, description="Units of the longest span.")


class CreateCollectionBody(Body):
    """The recipe of a new collection; absent fields have their defaults."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"span_units": {"shortest": 1, "longest": 12}}]})

    encoder: EncoderName | None = Field(None, description="Its encoder; the server's default without one.")
    span_units: SpanUnitsOptions | None = Field(None, description="The span bounds; 1 to 20 without any.")
    nugget_ratio: FiniteFloat | None = Field(
        None, description="Store nuggets for mode maxsim: this share of all tokens, 0.05 to 0.25, not whitened."
    )

    words: bool | None = Field(
        None, description="Store words, which modes that read words need; the server's default without."
    )
    facets: bool | None = Field(None, description="Store the facets of sentences, which mode facets needs.")
    restorable: bool | None = Field(None, description="Store vectors that give sentences back, for mode restorable.")
    store_text: bool | None = Field(
        None, description="False: store no texts; those of hits are restored from vectors, and may differ."
    )

    def options(self) -> CollectionOptions:
        """The options for the service."""
        span_units = self.span_units
        return CollectionOptions(
            encoder=self.encoder,
            shortest=None if span_units is None else span_units.shortest,
            longest=None if span_units is None else span_units.longest,
            nugget_ratio=self.nugget_ratio,
            words=self.words,
            facets=self.facets,
            restorable=self.restorable,
            store_text=self.store_text,
        )


@router.get("", response_model=CollectionList, summary="List the collections", responses=problems(401, 403, 503))
def list_collections(caller: CallerDependency) -> Response:
    """List the collections that the caller may search."""
    caller.require_scope("search")
    return answer_response(caller.backend.collections.list(lambda name: caller.may("search", name)))


@router.get(
    "/{collection}",
    response_model=CollectionDescription,
    summary="Describe a collection",
    responses=problems(401, 403, 404, 422, 503),
)
def get_collection(collection: Name, caller: CallerDependency) -> Response:
    """Describe a collection."""
    caller.require("search", collection)
    return answer_response(caller.backend.collections.describe(collection))


@router.put(
    "/{collection}",
    response_model=CollectionDescription,
    summary="Create a collection",
    responses=_CREATED | problems(400, 401, 403, 409, 413, 422, 429, 503, 504, 507),
)
async def create_collection(
    collection: Name, caller: CallerDependency, body: CreateCollectionBody | None = None
) -> Response:
    """Create a collection: 201, or 200 if it exists with the same recipe."""
    caller.require_name(collection, "collection")
    backend, options = caller.backend, (body or CreateCollectionBody.model_validate({})).options()
    created = await backend.writing.run(
        lambda: backend.collections.create(collection, options), backend.limits.write_deadline_s
    )
    return answer_response(CollectionDescription.of(created.collection), 201 if created.is_new else 200)


@router.delete(
    "/{collection}",
    response_model=DeletedCollection,
    summary="Delete a collection",
    responses=problems(401, 403, 404, 409, 422, 429, 503, 504),
)
async def delete_collection(collection: Name, caller: CallerDependency) -> Response:
    """Delete a collection with all its data; running searches finish."""
    caller.require("admin", collection)
    backend = caller.backend
    deleted = await backend.writing.run(lambda: backend.collections.delete(collection), backend.limits.write_deadline_s)
    return answer_response(deleted)
