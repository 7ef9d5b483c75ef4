"""Sending a request to an address of someone else's choice: bounded in time, without redirects, to permitted addresses.

The host's name is resolved once for each connection, and the connection is made to an address that was checked: a name
that resolves otherwise a moment later leads nowhere else.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

import httpcore

from spanseek_webhooks.addresses import Address, AddressRules

Resolve: TypeAlias = Callable[[str, int], Iterable[str]]
_OK: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)


class DeliveryFailed(Exception):
    """The receiver did not take a delivery: a code and a sentence, which hold no text of the delivery."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


def resolved(host: str, port: int) -> Iterator[str]:
    """The addresses of a host's name."""
    for *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        yield str(place[0])


class Sender:
    """Sends by POST; at most ``timeout_s`` pass from the resolved name to the answer's head. Safe to share."""

    def __init__(self, rules: AddressRules, *, timeout_s: float, resolve: Resolve = resolved) -> None:
        self._rules, self._timeout_s, self._resolve = rules, timeout_s, resolve

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Send a body; return if the answer's status is 2xx, else raise ``DeliveryFailed``. Its body is not read."""
        network = _Network(self._rules, self._resolve, self._timeout_s, encrypted=url.startswith("https:"))
        named = [(name.encode(), value.encode()) for name, value in headers.items()]
        try:
            with (
                httpcore.ConnectionPool(ssl_context=self._tls, network_backend=network) as pool,
                pool.stream("POST", url, headers=named, content=body) as answer,
            ):
                status = answer.status
        except httpcore.TimeoutException as error:
            raise DeliveryFailed("timeout", f"It did not answer within {self._timeout_s:g} s.") from error
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.UnsupportedProtocol,
            OSError,
            UnicodeError,
        ) as error:
            raise DeliveryFailed("unreachable", f"It cannot be reached, or does not speak HTTP: {error}.") from error
        if status in _REDIRECTS:
            raise DeliveryFailed("redirected", f"It answered {status}: redirects are not followed.")
        if status not in _OK:
            raise DeliveryFailed("refused", f"It answered {status}.")


class _Network(httpcore.SyncBackend):
    """Connections of one request, to permitted addresses alone, and with one deadline for all that they do."""

    def __init__(self, rules: AddressRules, resolve: Resolve, seconds: float, *, encrypted: bool) -> None:
        self._rules, self._resolve, self._encrypted = rules, resolve, encrypted
        self._seconds = seconds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,  # noqa: ANN401
    ) -> httpcore.NetworkStream:
        """Connect to the first permitted address that accepts."""
        permitted = [
            each for each in self._addresses(host, port) if self._rules.permits(each, encrypted=self._encrypted)
        ]
        if not permitted:
            raise DeliveryFailed("address_refused", "Its host has no address that webhooks may reach.")
        deadline = time.monotonic() + self._seconds
        for address in permitted[:-1]:
            try:
                return self._connected(address, port, deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connected(permitted[-1], port, deadline)

    def _addresses(self, host: str, port: int) -> list[Address]:
        return list(dict.fromkeys(map(ip_address, self._resolve(host.strip("[]"), port))))

    def _connected(self, address: Address, port: int, deadline: float) -> httpcore.NetworkStream:
        stream = super().connect_tcp(str(address), port, timeout=_left(deadline))
        return _TimedStream(stream, deadline)


class _TimedStream(httpcore.NetworkStream):
    """A stream whose operations end at a deadline, however slowly the other side sends."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read within the time that is left."""
        return self._stream.read(max_bytes, _left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write within the time that is left."""
        self._stream.write(buffer, _left(self._deadline))

    def close(self) -> None:
        """Close."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Begin TLS within the time that is left."""
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, _left(self._deadline)), self._deadline)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401
        """The stream's own details."""
        return self._stream.get_extra_info(info)


def _left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise httpcore.ReadTimeout("the time is up")
    return seconds
