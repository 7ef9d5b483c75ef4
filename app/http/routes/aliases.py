"""``/aliases``: names that stand for collections."""

from typing import Annotated

from fastapi import Path
from pydantic import ConfigDict, Field
from starlette.responses import Response

from app.collections.aliases import AliasList, AliasService
from app.http.auth import Caller, CallerDependency, in_pool
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.requests import Body, CollectionName
from indexer.catalog.aliases import alias_not_found

router = api_router(prefix="/aliases", tags=["collections"], responses=problems(401, 403))
Name = Annotated[CollectionName, Path(description="The alias.")]
_WRITE = problems(404, 409, 422, 507)


class AliasBody(Body):
    """The target of an alias."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"collection": "calls-2"}]})

    collection: CollectionName = Field(description="The collection to name.")


class AliasesBody(Body):
    """Changes of aliases, all at one moment."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"aliases": {"calls": "calls-2", "calls-old": None}}]})

    aliases: dict[CollectionName, CollectionName | None] = Field(
        min_length=1, description="The collection of each alias; null deletes the alias."
    )


@router.get("", response_model=AliasList, summary="List the aliases")
def list_aliases(caller: CallerDependency) -> Response:
    """List the aliases that the caller may search, and the collections that they name."""
    caller.require_scope("search", confined=True)
    return answer_response(caller.backend.get(AliasService).list(lambda name: caller.may("search", name)))


@router.patch("", response_model=AliasList, summary="Change several aliases at one moment", responses=_WRITE)
@in_pool
def change_aliases(body: AliasesBody, caller: CallerDependency) -> Response:
    """Set and delete aliases in one transaction: no search sees one change without the others."""
    return _set(caller, dict(body.aliases))


@router.put("/{alias}", response_model=AliasList, summary="Set an alias", responses=_WRITE)
@in_pool
def put_alias(alias: Name, body: AliasBody, caller: CallerDependency) -> Response:
    """Let an alias name a collection, from the next search on."""
    return _set(caller, {alias: body.collection})


@router.delete("/{alias}", response_model=AliasList, summary="Delete an alias", responses=problems(404, 409, 422))
@in_pool
def delete_alias(alias: Name, caller: CallerDependency) -> Response:
    """Delete an alias. The collection stays."""
    return _set(caller, {alias: None})


def _set(caller: Caller, targets: dict[str, str | None]) -> Response:
    for name, target in targets.items():
        if target is None:
            _require_alias(caller, name)
        else:
            caller.require_name(name, "alias")
            caller.require("admin", target)
    caller.backend.get(AliasService).set(targets)
    return answer_response(caller.backend.get(AliasService).list(lambda name: caller.may("search", name)))


def _require_alias(caller: Caller, name: str) -> None:
    """Raise ``AliasNotFound``, as for an alias that does not exist, if the caller may not administer it."""
    caller.require_scope("admin")
    if not caller.may("admin", name):
        raise alias_not_found(name)
