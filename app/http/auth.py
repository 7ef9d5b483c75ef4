"""Authentication: the caller of a request, and whether anonymous callers are accepted."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from app.http.backend import Backend
from app.http.problems import Forbidden, Unauthenticated
from indexer.catalog.keys import Key, Scope, any_keys, authenticate

_bearer = HTTPBearer(
    auto_error=False, description="An API key of `spanseek keys create`; needed as soon as there is one."
)


# How long a server goes on to accept anonymous callers after the first key was created.
FRESH_S = 0.25


class AnonymousAccess:
    """Remembers for ``FRESH_S`` that no key is in use; to look it up for every request would cost more than HTTP does.

    Nothing else is remembered. A key is looked up whenever it is presented, so a revoked one is refused at once.

    >>> access = AnonymousAccess(clock=iter([0.0, 0.1, 0.3]).__next__)
    >>> access.allow()
    >>> access.is_allowed(), access.is_allowed()
    (True, False)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._allowed_at = -FRESH_S

    def is_allowed(self) -> bool:
        """Whether no key was in use a moment ago."""
        return self._clock() - self._allowed_at < FRESH_S

    def allow(self) -> None:
        """Record that no key is in use now."""
        self._allowed_at = self._clock()


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of a key, or anybody where no keys are in use."""

    backend: Backend
    key: Key | None

    def may(self, scope: Scope, collection: str) -> bool:
        """Whether the caller may do this to a collection."""
        return self.key is None or self.key.allows(scope, collection)

    def require(self, scope: Scope, collection: str) -> None:
        """Raise ``Forbidden`` unless the caller may do this to the collection, whether it exists or not."""
        self.require_scope(scope)
        if not self.may(scope, collection):
            raise Forbidden(
                f"This API key is not for the collection {collection!r}.",
                hint="Use a key that was created for it, or for all collections.",
                field="collection",
            )

    def require_scope(self, scope: Scope) -> None:
        """Raise ``Forbidden`` unless the caller may do this to some collection."""
        if self.key is not None and not {scope, "admin"} & set(self.key.scopes):
            raise Forbidden(
                f"This API key lacks the scope {scope}.",
                hint=f"Create one that has it: spanseek keys create --name NAME --scope {scope}.",
            )


async def backend(request: Request) -> Backend:
    """The server's backend."""
    state: Backend = request.app.state.backend
    return state


async def caller(
    request: Request,
    backend: Annotated[Backend, Depends(backend)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    """The caller. Raises ``Unauthenticated`` for no key, or a wrong one, where keys are in use."""
    anonymous_access: AnonymousAccess = request.app.state.anonymous_access
    if credentials is None and anonymous_access.is_allowed():
        return Caller(backend, None)
    # In a thread: looking up a key queries the database.
    return await asyncio.to_thread(_caller, backend, credentials, anonymous_access)


def _caller(
    backend: Backend, credentials: HTTPAuthorizationCredentials | None, anonymous_access: AnonymousAccess
) -> Caller:
    catalog = backend.store.catalog
    key = authenticate(catalog, credentials.credentials) if credentials else None
    if key is None and any_keys(catalog):
        raise Unauthenticated(
            "The API key is not valid." if credentials else "This server asks for an API key.",
            hint="Send the header `Authorization: Bearer <key>`; `spanseek keys create` makes one.",
        )
    if key is None:
        anonymous_access.allow()
    return Caller(backend, key)


BackendDependency = Annotated[Backend, Depends(backend)]
CallerDependency = Annotated[Caller, Depends(caller)]
