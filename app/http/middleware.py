"""ASGI middlewares: limits on requests and on time, answers to unexpected errors, and request metrics."""

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from inspect import iscoroutinefunction

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.metrics import Metrics
from app.http.problems import HeadersTooLarge, TooManyConnections, internal_error, problem_response
from app.http.proxies import path_of
from app.http.request_ids import request_id_of
from app.search.errors import DeadlineExceeded
from indexer.disk import full_disk_named
from indexer.errors import ResourcesExhausted, StorageFailed, StorageFull

# Nobody receives it: it is counted in the metrics, under the status that nginx uses.
_CLIENT_CLOSED = 499
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
# Bytes of a body per second beyond the time that every request has: an upload of any size may go on at this rate.
_SLOWEST = 2**16
_UPLOAD = re.compile("/collections/[^/]+/(?:documents/import|files)")

_log = logging.getLogger(__name__)


class RequestLimitMiddleware:
    """Answers 431 to a URL and headers of more than ``head_bytes``, and 503 to more than ``requests`` at once."""

    def __init__(self, app: ASGIApp, head_bytes: int, requests: int) -> None:
        self.app = app
        self.head_bytes = head_bytes
        self.requests = requests
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if there is room for it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif _head_bytes(scope) > self.head_bytes:
            message = f"The URL and the headers are larger than {self.head_bytes:,} bytes."
            too_large = HeadersTooLarge(message, hint="Send fewer and smaller headers; texts belong in the body.")
            await problem_response(too_large)(scope, receive, send)
        elif self._running >= self.requests:
            too_many = TooManyConnections("The server answers as many requests as it may.", hint="Retry later.")
            await problem_response(too_many)(scope, receive, send)
        else:
            self._running += 1
            try:
                await self.app(scope, receive, send)
            finally:
                self._running -= 1


class BodyLimitMiddleware:
    """Raises HTTP 413 when more than ``limit`` bytes of a body are read, announced or chunked, and 408 for a slow one.

    Uploads, which go to the disk, may have ``uploads`` bytes. The server waits for a body for ``read_s`` in all, and
    for longer while 64 KiB of it arrive a second.
    """

    def __init__(self, app: ASGIApp, limit: int, uploads: int, read_s: float) -> None:
        self.app = app
        self.limit = limit
        self.uploads = uploads
        self.read_s = read_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a limit on its body."""
        if scope["type"] == "http":
            limit = self.uploads if _UPLOAD.fullmatch(path_of(scope)) else self.limit
            receive = _in_time(_limited(receive, _announced(scope), limit), self.read_s)
        await self.app(scope, receive, send)


class ServerErrorMiddleware:
    """Answers shortages of room (507) and of descriptors, and failures of the disk (503); logs others, and answers 500.

    Details of that are in the log only.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and catch what it raises before the answer has begun."""
        if scope["type"] != "http":  # it lasts as long as the server, and answers nothing
            with full_disk_named():
                await self.app(scope, receive, send)
            return
        begun = False

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            with full_disk_named():
                await self.app(scope, receive, send_and_note)
        except ClientDisconnect:
            await Response(status_code=_CLIENT_CLOSED)(scope, receive, send)
        except (StorageFull, StorageFailed, ResourcesExhausted) as error:
            if begun:
                raise
            _log.error("%s", error)
            await problem_response(error)(scope, receive, send)
        except Exception:
            if begun:
                raise
            id = request_id_of(scope)
            _log.exception("unforeseen error in %s %s, request %s", *labels(scope), id, extra={"request_id": id})
            await problem_response(internal_error())(scope, receive, send)


class HeadMiddleware:
    """Answers ``HEAD`` as ``GET`` without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; of ``HEAD`` as ``GET``, in a scope of its own."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self.app({**scope, "method": "GET"}, receive, send_without_body)


class DeadlineMiddleware:
    """Answers 504 if a route does not answer in time, for example because the catalog hangs.

    Routes that run on the event loop have deadlines of their own, up to ``write_deadline_s``; for them this is the last
    resort. The route goes on, and its late answer is dropped. Time counts from the last piece of the body that it read.
    """

    def __init__(self, app: ASGIApp, deadline_s: float, write_deadline_s: float) -> None:
        self.app = app
        self.deadline_s = deadline_s
        self.write_deadline_s = max(deadline_s, write_deadline_s) + deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a deadline until its answer begins."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _TimedAnswer(self, scope, receive, send)
        try:
            await self.app(scope, answer.receive, answer.send)
        finally:
            await answer.close()


class _TimedAnswer:
    """The answer to one request: the route's, or 504 if that does not start in time."""

    def __init__(self, limits: DeadlineMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        self._limits, self._scope, self._receive, self._send = limits, scope, receive, send
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._timer = self._loop.call_later(limits.deadline_s, self._expire)
        self._late: asyncio.Task[None] | None = None

    async def receive(self) -> Message:
        """Pass a piece of the body to the route: its time begins again."""
        message = await self._receive()
        self._started = self._loop.time()
        return message

    async def send(self, message: Message) -> None:
        """Pass a message of the route on, unless it is late."""
        if self._late is None:
            self._timer.cancel()
            await self._send(message)

    async def close(self) -> None:
        """Stop the timer; finish sending the 504."""
        self._timer.cancel()
        if self._late is not None:
            await self._late

    def _expire(self) -> None:
        seconds = self._loop.time() - self._started
        may_be_long = iscoroutinefunction(self._scope.get("endpoint"))
        left = (self._limits.write_deadline_s if may_be_long else self._limits.deadline_s) - seconds
        if left > 0:
            self._timer = self._loop.call_later(left, self._expire)
            return
        message = f"No answer within {seconds:.3g} s. What was begun may still be done."
        response = problem_response(DeadlineExceeded(message, hint="Retry; check /health/ready."))
        self._late = self._loop.create_task(response(self._scope, self._receive, self._send))


class MetricsMiddleware:
    """Counts, times and logs requests, by route: what callers wrote into paths and queries may be confidential."""

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
            method, route = labels(scope)
            self.metrics.requests.labels(method, route, status).inc()
            seconds = time.perf_counter() - started
            self.metrics.seconds.labels(method, route).observe(seconds)
            client = scope["client"][0] if scope.get("client") else "-"
            request = {"client": client, "method": method, "route": route, "status": status}
            request |= {"request_id": request_id_of(scope), "seconds": round(seconds, 6)}
            key = scope.get("state", {}).get("key_id")
            if key:
                request["key"] = key
            told = client, key or "-", method, route, status, request_id_of(scope), seconds
            _log.info("%s %s %s %s %d %s %.3f s", *told, extra=request)


def _head_bytes(scope: Scope) -> int:
    """The bytes of the URL and of all headers."""
    of_headers = sum(len(name) + len(value) for name, value in scope["headers"])
    return len(scope.get("raw_path") or b"") + len(scope["query_string"]) + of_headers


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


def _in_time(receive: Receive, read_s: float) -> Receive:
    is_read, waited, clock = False, 0.0, asyncio.get_running_loop().time

    async def in_time() -> Message:
        nonlocal is_read, waited
        if is_read:  # what comes now says that the client has gone
            return await receive()
        begun = clock()
        try:
            async with asyncio.timeout(read_s - waited):
                message = await receive()
        except TimeoutError:
            raise HTTPException(
                408, f"The body did not arrive completely within {read_s:g} s.", {"Connection": "close"}
            ) from None
        waited = max(0.0, waited + clock() - begun - len(message.get("body", b"")) / _SLOWEST)
        is_read = not message.get("more_body", False)
        return message

    return in_time


def _too_large(limit: int) -> HTTPException:
    # Starlette's class, because FastAPI makes 400 of any other that is raised while it reads a body.
    return HTTPException(413, f"The body is larger than {limit} bytes.")


def labels(scope: Scope) -> tuple[str, str]:
    """Method and path template. Unknown ones share a label: callers can invent any number of them."""
    route = route_of(scope)
    method = scope["method"] if scope["method"] in _METHODS else "other"
    return (method, route.path) if route is not None else (method, "none")


def route_of(scope: Scope) -> Route | None:
    """The route of a request, also of one that is not routed yet, or never, such as one without a valid key."""
    if "route" in scope:
        found: Route = scope["route"]
        return found
    routes: Sequence[Route] = scope["app"].state.routes if "app" in scope else ()
    return next((each for each in routes if each.matches(scope)[0] is Match.FULL), None)
