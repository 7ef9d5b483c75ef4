"""The HTTP/1.1 connections of the server: uvicorn's protocol, with limits on headers, on time and on their number.

Uvicorn limits none of these with httptools: a client could send one header for ever, hold a half-sent request open, or
use up all file descriptors.
"""

import asyncio
import logging
import resource
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic_core import to_json
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.http.problems import (
    MEDIA_TYPE,
    HeadersTooLarge,
    RequestTimeout,
    TooManyConnections,
    problem,
    status_of,
)
from app.http.request_ids import HEADER, new_request_id
from app.settings import Settings
from models.errors import SpanseekError

# Seconds for which a refused client may read the refusal before the connection is reset.
_LINGER_S = 1.0
# Connections beyond the limit that are answered 503; further ones are reset.
_REFUSED_AT_ONCE = 64
# File descriptors that connections leave for files, the catalog and refused connections.
_RESERVED_DESCRIPTORS = 128 + _REFUSED_AT_ONCE
_MIN_CONNECTIONS = 16

# Bytes of a body per second beyond the time that every request has: an upload of any size may go on at this rate.
_SLOWEST = 2**16

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits on connections: bytes of all headers of a request, seconds to send a request, and their number."""

    header_bytes: int
    read_s: float
    connections: int


class LimitedProtocol(HttpToolsProtocol):
    """One connection. A request that exceeds a limit is answered 431 or 408, and the connection is closed.

    Time counts from the first byte of a request, and on a new connection from its beginning, to the last byte of the
    body. It does not count while the server itself does not read. Between requests uvicorn's limit on idle connections
    applies.
    """

    limits: ClassVar[ConnectionLimits]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse a connection too many; watch the others."""
        super().connection_made(transport)
        self._refused = False
        self._reading_since: float | None = self.loop.time()
        self._head_bytes = 0  # of the URL and the headers that were parsed
        self._unparsed_bytes = 0  # received since something was parsed
        self._in_head = False
        self._closing_checks = 0
        self._watch = self.loop.call_later(self.limits.read_s, self._check)
        excess = len(self.connections) - self.limits.connections
        if excess > _REFUSED_AT_ONCE:
            transport.abort()
        elif excess > 0:
            self._refuse(TooManyConnections("The server has too many connections.", hint="Retry later."))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; discard it where the client has been refused."""
        if self._refused:
            return
        if self._reading_since is None and self.cycle.response_complete:
            self._reading_since = self.loop.time()
        self._unparsed_bytes += len(data)
        super().data_received(data)
        if self._is_too_large and not self._refused:
            self._refuse(self._too_large())

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser stopped at: for its syntax, or in :meth:`on_headers_complete`."""
        if self._is_too_large:
            self._refuse(self._too_large())
        else:
            super().send_400_response(msg)

    def on_message_begin(self) -> None:
        """Begin to count."""
        if self._reading_since is None:
            self._reading_since = self.loop.time()
        self._head_bytes = 0
        self._in_head = True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count a piece of the URL."""
        self._parsed(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header, or a trailer."""
        self._parsed(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request. Raises ``ValueError``, which stops the parser, where the headers are too large."""
        self._unparsed_bytes = 0
        if self._is_too_large:
            raise ValueError("too large")
        self._in_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body, which buys time for the next ones."""
        self._unparsed_bytes = 0
        if self._reading_since is not None:
            self._reading_since = min(self._reading_since + len(body) / _SLOWEST, self.loop.time())
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has been read."""
        self._unparsed_bytes = 0
        self._reading_since = None
        super().on_message_complete()

    def _parsed(self, size: int) -> None:
        self._head_bytes += size
        self._unparsed_bytes = 0

    @property
    def _is_too_large(self) -> bool:
        return max(self._unparsed_bytes, self._head_bytes) > self.limits.header_bytes

    def _too_large(self) -> HeadersTooLarge:
        message = f"The URL and the headers are larger than {self.limits.header_bytes:,} bytes."
        return HeadersTooLarge(message, hint="Send fewer and smaller headers; texts belong in the body.")

    @property
    def _must_wait(self) -> bool:
        """True if the server cannot read or answer the request yet because of an earlier one."""
        before = self._in_head and self.cycle is not None and not self.cycle.response_complete
        return self.flow.read_paused or bool(self.pipeline) or before

    def _check(self) -> None:
        """Close the connection where a request takes too long to arrive, or the client does not read its answer."""
        if self._refused:
            return
        now, limit = self.loop.time(), self.limits.read_s
        if self.transport.is_closing():
            self._closing_checks += 1
            if self._closing_checks > 1:
                self.transport.abort()
        elif self._reading_since is not None and self._must_wait:
            self._reading_since = now
        elif self._reading_since is not None and now - self._reading_since >= limit:
            self._time_out()
        wait = limit if self._reading_since is None else max(self._reading_since + limit - now, 0.0)
        self._watch = self.loop.call_later(wait or limit, self._check)

    def _time_out(self) -> None:
        is_answered = not self._in_head and (self.cycle is None or self.cycle.response_started)
        if is_answered:
            self.transport.close()
        else:
            limit = self.limits.read_s
            message = f"The request did not arrive completely within {limit:g} s."
            self._refuse(RequestTimeout(message, hint="Send it faster, or less at once."))

    def _refuse(self, error: SpanseekError) -> None:
        """Answer with a problem and close; what the client goes on to send is discarded, so that it can read that."""
        self._refused = True
        request_id = new_request_id()  # the one that the client sent, if any, may not have been read
        _log.info("%s: %s Request %s", self.client[0] if self.client else "client", error, request_id)
        if self.cycle is not None and not self.cycle.response_complete:
            started = self.cycle.response_started or self._in_head
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if started:  # an answer in between would be taken for a part of the one under way
                self.transport.close()
                return
        self.transport.write(_answer(error, request_id))
        self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(_LINGER_S, self.transport.abort)


def connection_options(settings: Settings) -> dict[str, Any]:
    """Uvicorn's options for connections that are limited as the settings say.

    Uvicorn's own log of requests is off, as it shows paths and queries; ``MetricsMiddleware`` logs them.
    """
    limits = ConnectionLimits(settings.header_limit_bytes, settings.read_timeout_s, settings.connection_limit)
    protocol, keep_alive = limited_protocol(limits), settings.keep_alive_s
    return {
        "http": protocol,
        "ws": "none",
        "timeout_keep_alive": keep_alive,
        "access_log": False,
        "proxy_headers": False,  # uvicorn believes anybody on this machine; see ``app.http.proxies``
    }


def limited_protocol(limits: ConnectionLimits) -> type[LimitedProtocol]:
    """The class of connections with these limits; fewer connections where the process may open few files."""
    most = max(_MIN_CONNECTIONS, _descriptors() - _RESERVED_DESCRIPTORS)
    if most < limits.connections:
        _log.warning("at most %d connections: the limit on open files (ulimit -n) is %d", most, _descriptors())
    limits = replace(limits, connections=min(most, limits.connections))
    return type("LimitedProtocol", (LimitedProtocol,), {"limits": limits})


def raise_descriptor_limit() -> None:
    """Let the process open as many files as the system allows it, and say so in the log."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:  # macOS has a lower limit than the hard one
        _log.warning("at most %d files may be open; the limit was not raised to %d: %s", soft, hard, error)
    else:
        _log.info("%d files may be open: the limit (ulimit -n) was raised from %d", hard, soft)


def _descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**20 if soft == resource.RLIM_INFINITY else soft


def _answer(error: SpanseekError, request_id: str) -> bytes:
    status, body = status_of(type(error)), to_json(problem(error))
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n{HEADER}: {request_id}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body
