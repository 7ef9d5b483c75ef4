"""ASGI middlewares: the limit on bodies, the answer to unforeseen errors, and the measuring of requests."""

import logging
import time

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.metrics import Metrics
from app.http.problems import internal_error, problem_response

# Nobody receives it: it is counted in the metrics, under the status that nginx uses.
_CLIENT_CLOSED = 499
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

_log = logging.getLogger(__name__)


class BodyLimitMiddleware:
    """Raises HTTP 413 in whoever reads more than ``limit`` bytes of a body, announced or chunked."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a limit on its body."""
        if scope["type"] == "http":
            receive = _limited(receive, _announced(scope), self.limit)
        await self.app(scope, receive, send)


class ServerErrorMiddleware:
    """Logs an unforeseen exception, and answers 500 without details."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and catch what it raises before the answer has begun."""
        begun = False

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except ClientDisconnect:
            await Response(status_code=_CLIENT_CLOSED)(scope, receive, send)
        except Exception:
            if scope["type"] != "http" or begun:
                raise
            _log.exception("unforeseen error in %s %r", scope["method"], scope["path"])
            await problem_response(internal_error())(scope, receive, send)


class MetricsMiddleware:
    """Counts and times requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and record its route, status and duration."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            method, route = _labels(scope)
            self.metrics.requests.labels(method, route, status).inc()
            self.metrics.seconds.labels(method, route).observe(time.perf_counter() - started)


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


def _labels(scope: Scope) -> tuple[str, str]:
    """Method and path template. Unknown ones share a label: callers can invent any number of them."""
    route = scope.get("route")
    method = scope["method"] if scope["method"] in _METHODS else "other"
    return (method, route.path) if route is not None else (method, "none")
