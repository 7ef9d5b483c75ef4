"""The limit on bodies, announced or chunked: what lies beyond it is never read."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """ASGI middleware: reading more than ``limit`` bytes of a body raises HTTP 413 in whoever reads it."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, its body under watch."""
        if scope["type"] == "http":
            receive = _limited(receive, _announced(scope), self.limit)
        await self.app(scope, receive, send)


def _announced(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"")
    return int(length) if length.isdigit() else 0


def _limited(receive: Receive, announced: int, limit: int) -> Receive:
    received = 0

    async def limited() -> Message:
        nonlocal received
        if announced > limit:
            raise _too_large(limit)
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise _too_large(limit)
        return message

    return limited


def _too_large(limit: int) -> HTTPException:
    # Starlette's class, because FastAPI makes 400 of any other that is raised while it reads a body.
    return HTTPException(413, f"The body is larger than {limit} bytes.")
