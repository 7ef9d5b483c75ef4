"""Request ids: every answer has one in ``X-Request-ID``, and so has every line that is logged for it."""

import re
from typing import Final
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER: Final = "X-Request-ID"
_WELL_FORMED: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=@-]{0,127}")


class RequestIdMiddleware:
    """Takes the id of a request from its header, if it is well-formed, else makes one, and returns it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its id."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        id = _request_id(Headers(scope=scope).get(HEADER))

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = id
            await send(message)

        await self.app({**scope, HEADER: id}, receive, send_with_id)


def new_request_id() -> str:
    """An id that no other request has."""
    return uuid4().hex


def request_id_of(scope: Scope) -> str:
    """The id of a request that :class:`RequestIdMiddleware` has passed on; ``-`` for another.

    >>> request_id_of({"X-Request-ID": "7f3a"}), request_id_of({})
    ('7f3a', '-')
    """
    id: str = scope.get(HEADER, "-")
    return id


def _request_id(given: str | None) -> str:
    return given if given is not None and _WELL_FORMED.fullmatch(given) else new_request_id()
