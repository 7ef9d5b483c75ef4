"""What routes are given: the backend, and who is asking."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from app.http.backend import Backend
from app.http.errors import Forbidden, Unauthenticated
from indexer.catalog.keys import Key, Scope, any_keys, authenticate

_bearer = HTTPBearer(
    auto_error=False, description="An API key of `spanseek keys create`; needed as soon as there is one."
)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking: the holder of a key, or anybody where no keys are in use."""

    backend: Backend
    key: Key | None

    def may(self, scope: Scope, collection: str) -> bool:
        """Whether the caller may do this to a collection."""
        return self.key is None or self.key.allows(scope, collection)

    def require(self, scope: Scope, collection: str) -> None:
        """Raise ``Forbidden`` unless the caller may do this to the collection, be there one or not."""
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
    found: Backend = request.app.state.backend
    return found


async def caller(
    backend: Annotated[Backend, Depends(backend)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    """Who is asking. Raises ``Unauthenticated`` for no key, or a wrong one, where keys are in use."""
    if credentials is None and backend.doors.are_open():
        return Caller(backend, None)
    # In a thread: looking up a key asks the database.
    return await asyncio.to_thread(_caller, backend, credentials)


def _caller(backend: Backend, credentials: HTTPAuthorizationCredentials | None) -> Caller:
    catalog = backend.store.catalog
    key = authenticate(catalog, credentials.credentials) if credentials else None
    if key is None and any_keys(catalog):
        raise Unauthenticated(
            "The API key is not valid." if credentials else "This server asks for an API key.",
            hint="Send the header `Authorization: Bearer <key>`; `spanseek keys create` makes one.",
        )
    if key is None:
        backend.doors.found_open()
    return Caller(backend, key)


BackendDependency = Annotated[Backend, Depends(backend)]
CallerDependency = Annotated[Caller, Depends(caller)]
