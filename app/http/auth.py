"""Authentication: the caller of a request, and whether anonymous callers are accepted."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial, wraps
from itertools import islice
from typing import Annotated, ParamSpec, TypeVar

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ASGIScope

from app.http.backend import Backend
from app.http.hosts import AllowedHosts
from app.http.lanes import deadline
from app.http.oidc import Issuer
from app.http.problems import Forbidden, Unauthenticated, problem_response
from indexer.catalog.keys import Key, Scope, any_keys, authenticate, key_id
from indexer.engine.query import Filter
from indexer.errors import CollectionAliased, CollectionNotFound, KeyConfined
from indexer.freshness import FRESH_S
from models.errors import SpanseekError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

bearer = HTTPBearer(
    auto_error=False,
    description="An API key of `spanseek keys create`, once a key exists, or a token of the identity provider.",
)


# Documents that a record of the audit log names.
MOST_NOTED = 1_000


class AnonymousAccess:
    """Caches for ``FRESH_S`` that no key is in use; a query for every request would cost more than HTTP does.

    Nothing else is cached. Every presented key is looked up, so that a revoked one is refused immediately.

    >>> access = AnonymousAccess(clock=iter([0.0, 0.1, 0.3]).__next__)
    >>> access.allow()
    >>> access.is_allowed(), access.is_allowed()
    (True, False)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._allowed_at = -FRESH_S

    def is_allowed(self) -> bool:
        """True if no key was in use within ``FRESH_S``."""
        return self._clock() - self._allowed_at < FRESH_S

    def allow(self) -> None:
        """Record that no key is in use now."""
        self._allowed_at = self._clock()


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of a key, or an anonymous caller if no keys are in use.

    A key may have a filter that always holds. Routes that read or write documents get it from :meth:`confine`, the one
    place that adds it to what a request asks; whatever only calls :meth:`require` is refused to such a key.
    """

    backend: Backend
    key: Key | None
    # What was asked of which collections and documents, for the audit log.
    collections: set[str] = field(default_factory=set)
    documents: list[str] = field(default_factory=list)

    def may(self, scope: Scope, collection: str) -> bool:
        """True if the caller has this scope for a collection."""
        return self.key is None or self.key.allows(scope, collection)

    def note(self, documents: Iterable[str]) -> None:
        """Tell the audit log which documents the request names, ``MOST_NOTED`` at most."""
        self.documents.extend(islice(documents, MOST_NOTED - len(self.documents)))

    @property
    def reach(self) -> Filter:
        """The filter of the key alone: the documents that the caller may know of."""
        return Filter(always=None if self.key is None else self.key.filter)

    def confine(self, scope: Scope, collection: str, filter: Filter = Filter(), field: str = "collection") -> Filter:
        """The filter of a request, beside which that of the key holds.

        Raises ``Forbidden`` without this scope, and ``CollectionNotFound`` if the key is not for the collection: a key
        gets the same answer for a collection that it may not see and for one that does not exist.
        """
        self.collections.add(collection)
        self.require_scope(scope, confined=True)
        if not self.may(scope, collection):
            raise CollectionNotFound(f"There is no collection {collection!r}", field=field)
        return filter.within(self.reach.always)

    def searchable(self, collection: str | None) -> Filter:
        """The documents of a collection that the caller may search; without a collection, texts are the caller's own.

        Raises what :meth:`confine` raises.
        """
        if collection is None:
            self.require_scope("search", confined=True)
            return Filter()
        return self.confine("search", collection)

    def require(self, scope: Scope, collection: str, field: str = "collection") -> None:
        """Check as :meth:`confine` does, where no filter can hold: raises ``KeyConfined`` if the key has one."""
        self.collections.add(collection)
        self.require_scope(scope)
        self.confine(scope, collection, field=field)

    def require_name(self, name: str, field: str) -> None:
        """Raise ``Forbidden`` unless the caller administers this name, which a collection or an alias is to have."""
        self.require_scope("admin")
        if not self.may("admin", name):
            raise Forbidden(
                f"This API key is not for the name {name!r}, whether or not a collection has it.",
                hint="Use a key that was created for it, or for all collections.",
                field=field,
            )

    def require_everything(self) -> None:
        """Raise ``Forbidden`` unless the caller administers all collections, and all of their documents."""
        self.require_scope("admin")
        if self.key is not None and self.key.collections is not None:
            raise Forbidden(
                "This API key is for some collections only.", hint="Use an admin key that was created for all of them."
            )

    def require_scope(self, scope: Scope, *, confined: bool = False) -> None:
        """Raise ``Forbidden`` unless the caller has this scope for any collection.

        Raises ``KeyConfined`` if the key has a filter, unless ``confined`` says that the route holds it, or reads none
        of a collection's documents.
        """
        if self.key is not None and not {scope, "admin"} & set(self.key.scopes):
            raise Forbidden(
                f"This API key lacks the scope {scope}.",
                hint=f"Create one that has it: spanseek keys create --name NAME --scope {scope}.",
            )
        if self.reach and not confined:
            raise KeyConfined(
                "This API key has a filter, which cannot hold here: what was asked concerns all documents.",
                hint="Use a key without a filter. docs/security.md lists what keys with a filter may do.",
            )


async def backend(request: Request) -> Backend:
    """The server's backend."""
    state: Backend = request.app.state.backend
    return state


async def caller(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Caller:
    """The caller. With keys in use, raises ``Unauthenticated`` for a missing or invalid one.

    Without keys, raises ``HostNotAllowed`` or ``OriginNotAllowed`` for a page of another site.
    """
    identified: Caller | None = getattr(request.state, "caller", None)
    if identified is None:
        identified = await _identify(request, credentials.credentials if credentials else None)
    return identified


class AuthenticationMiddleware:
    """Refuses requests that may have a body before the body is read; FastAPI's dependencies come after it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Identify the caller of a request, unless it is ``GET`` or ``OPTIONS``, which have no body."""
        if scope["type"] == "http" and scope["method"] not in ("GET", "OPTIONS"):
            request = Request(scope)
            scheme, token = get_authorization_scheme_param(request.headers.get("authorization"))
            try:
                await _identify(request, token if token and scheme.lower() == "bearer" else None)
            except SpanseekError as error:
                await problem_response(error)(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def _identify(request: Request, token: str | None) -> Caller:
    """The holder of a token, who is remembered in the request."""
    backend: Backend = request.app.state.backend
    anonymous_access: AnonymousAccess = request.app.state.anonymous_access
    if token is None and anonymous_access.is_allowed():
        identified = Caller(backend, None)
    else:
        limit = backend.limits.deadline_s
        message = f"The API key was not looked up within {limit:g} s."
        # Logs name the key, also where it is refused.
        request.state.key_id = key_id(token or "")
        issuer: Issuer | None = request.app.state.issuer
        async with deadline(limit, message, hint="Retry; check that the database answers."):
            # In a thread: looking up a key queries the database.
            identified = await asyncio.to_thread(_caller, backend, token, anonymous_access, issuer)
    if identified.key is None:
        allowed_hosts: AllowedHosts = request.app.state.allowed_hosts
        allowed_hosts.check(request.headers)
    elif request.state.key_id is None:  # of a token
        request.state.key_id = identified.key.id
    else:
        request.app.state.key_uses.note(identified.key.id)
        if identified.key.rate is not None:
            request.app.state.rate_limits.take(identified.key.id, identified.key.rate)
    request.state.caller = identified
    return identified


async def collection_not_found(request: Request, error: CollectionNotFound) -> Response:
    """The answer to an unknown collection: its hint names only collections that the caller may use."""
    key: Key | None = getattr(getattr(request.state, "caller", None), "key", None)
    return problem_response(not_found_for(key, error))


def not_found_for(key: Key | None, error: CollectionNotFound) -> CollectionNotFound:
    """The error of an unknown collection as the holder of a key may see it."""
    if key is None or key.collections is None:
        return error
    hint = f"This API key is for: {', '.join(key.collections)}."
    return CollectionNotFound(str(error), hint=hint, field=error.field)


async def collection_aliased(request: Request, error: CollectionAliased) -> Response:
    """The answer to the deletion of a collection with aliases, whose names a key for some collections may not see."""
    key: Key | None = getattr(getattr(request.state, "caller", None), "key", None)
    if key is not None and key.collections is not None:
        error = CollectionAliased(
            "The collection has an alias; nothing was deleted", hint=error.hint, field=error.field
        )
    return problem_response(error)


def _caller(backend: Backend, token: str | None, anonymous_access: AnonymousAccess, issuer: Issuer | None) -> Caller:
    if issuer is not None and token and token.count(".") == 2:  # what no API key has
        return Caller(backend, issuer.key(token))
    catalog = backend.store.catalog
    key = authenticate(catalog, token) if token else None
    if key is None and (issuer is not None or any_keys(catalog)):
        raise Unauthenticated(
            "The API key is not valid." if token else "This server asks for an API key.",
            hint="Send the header `Authorization: Bearer <key>`; `spanseek keys create` makes one.",
        )
    if key is None:
        anonymous_access.allow()
    return Caller(backend, key)


BackendDependency = Annotated[Backend, Depends(backend)]
CallerDependency = Annotated[Caller, Depends(caller)]


def in_pool(route: Callable[Parameters, Result]) -> Callable[Parameters, Awaitable[Result]]:
    """A decorator of routes that write to the catalog: they run in a pool, so that a locked catalog stops no others.

    The route has a parameter ``caller``.
    """

    @wraps(route)
    async def run(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        caller: Caller = options["caller"]  # type: ignore[assignment]
        return await caller.backend.write(partial(route, *arguments, **options))

    return run
