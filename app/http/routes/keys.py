"""``/admin/keys``: create, list and revoke API keys."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Path
from pydantic import AwareDatetime, ConfigDict, Field
from starlette.responses import Response

from app.answers import described
from app.http.auth import CallerDependency, in_pool
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.requests import MAX_NAME, Body, CollectionName, ExpressionField
from indexer.catalog.keys import MAX_RATE, Key, Scope, create_key, list_keys, revoke_key
from indexer.filters.json_form import json_of
from indexer.filters.strings import printed
from models.fields import converted

router = api_router(prefix="/admin/keys", tags=["admin"], responses=problems(401, 403, 422))
Id = Annotated[str, Path(description="The key's id, as listed.", max_length=200)]


class NewKeyBody(Body):
    """A key to create."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "acme", "scopes": ["search"], "collections": ["calls"], "filter": 'tenant = "acme"'}]
        }
    )

    name: str = Field(min_length=1, max_length=MAX_NAME, description="What the key is for.")
    scopes: list[Scope] = Field(min_length=1, description="What it may do.")
    collections: list[CollectionName] | None = Field(
        None, description="Only these collections; null for all, those to come included."
    )
    filter: ExpressionField = Field(
        None,
        description="An expression about documents that holds in everything that the key reads and writes, such as "
        '`tenant = "acme"` or `document.id starts with "acme/"`.',
    )
    expires_at: AwareDatetime | None = Field(
        None, strict=False, description="When it ceases to be valid, with an offset from UTC; null for never."
    )
    rate: int | None = Field(
        None, ge=1, le=MAX_RATE, description="Most requests a minute, for each server process; null for any number."
    )


@dataclass(frozen=True, slots=True)
class KeyDescription:
    """An API key, without its secret."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    collections: Annotated[tuple[str, ...] | None, described("Null for all collections.")]
    filter: Annotated[str | None, described("The expression that always holds; null without one.")]
    rate: Annotated[int | None, described("Most requests a minute; null for any number.")]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    @classmethod
    def of(cls, key: Key) -> "KeyDescription":
        """A key as an answer."""
        return converted(key, cls, filter=None if key.filter is None else printed(key.filter))


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key and its token."""

    token: Annotated[str, described("The key itself, as callers send it. It is shown once.")]
    key: KeyDescription


@dataclass(frozen=True, slots=True)
class KeyList:
    """API keys, the oldest first; revoked ones are among them."""

    keys: tuple[KeyDescription, ...]


@dataclass(frozen=True, slots=True)
class RevokedKey:
    """The key that no longer opens anything."""

    id: str
    status: Annotated[str, described("`revoked`.")] = "revoked"


@router.get("", response_model=KeyList, summary="List the API keys")
def list_api_keys(caller: CallerDependency) -> Response:
    """List all keys without their secrets."""
    caller.require_everything()
    return answer_response(KeyList(tuple(map(KeyDescription.of, list_keys(caller.backend.store.catalog)))))


@router.post("", status_code=201, response_model=CreatedKey, summary="Create an API key", responses=problems(507))
@in_pool
def create_api_key(body: NewKeyBody, caller: CallerDependency) -> Response:
    """Create a key. From the first one on, every request needs a key."""
    caller.require_everything()
    key, token = create_key(
        caller.backend.store.catalog,
        body.name,
        body.scopes,
        body.collections,
        expires_at=body.expires_at,
        rate=body.rate,
        filter=None if body.filter is None else json_of(body.filter),
    )
    return answer_response(CreatedKey(token, KeyDescription.of(key)), 201)


@router.delete("/{id}", response_model=RevokedKey, summary="Revoke an API key", responses=problems(404, 507))
@in_pool
def revoke_api_key(id: Id, caller: CallerDependency) -> Response:
    """Revoke a key from the next request on."""
    caller.require_everything()
    revoke_key(caller.backend.store.catalog, id)
    return answer_response(RevokedKey(id))
