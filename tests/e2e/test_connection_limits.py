"""Limits on connections: a server process, and clients that send too much, too slowly, or too often."""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from app.settings import Settings
from indexer.catalog.schema import upgrade
from tests.serving import running
from tests.waiting import PATIENCE_S, until


class Server(NamedTuple):
    """A running server."""

    process: psutil.Process
    client: httpx.Client
    log: list[str]

    def connect(self) -> socket.socket:
        url = urlsplit(str(self.client.base_url))
        return socket.create_connection((url.hostname, url.port), timeout=PATIENCE_S)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Half a second for a request, a second between requests, 40 connections."""
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("data"), encoder="hashing", database_url="")
    upgrade(settings.catalog_url)
    limits = {"read_timeout_s": 0.5, "keep_alive_s": 1, "connection_limit": 40}
    log: list[str] = []
    with running(settings, log, **limits) as (process, client):
        yield Server(psutil.Process(process.pid), client, log)


def answer(connection: socket.socket) -> bytes:
    """All bytes up to the end of the connection, which the server must close."""
    chunks = []
    with suppress(ConnectionError):
        while chunk := connection.recv(65536):
            chunks.append(chunk)
    return b"".join(chunks)


def problem(answered: bytes, status: int, code: str) -> dict[str, object]:
    head, _, body = answered.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/problem+json" in head
    assert re.search(rb"^X-Request-ID: [0-9a-f]{32}\r$", head, re.MULTILINE)
    found = json.loads(body)
    assert (found["status"], found["code"]) == (status, code)
    return found


def send(connection: socket.socket, data: bytes, times: int) -> int:
    """Send until the server does not read any more; the number of bytes that were sent."""
    sent = 0
    with suppress(ConnectionError):
        for _ in range(times):
            connection.sendall(data)
            sent += len(data)
            time.sleep(0)
    return sent


ENDLESS = {
    "a header": (b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ", b"x" * 8192),
    "headers": (b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n", b"X-A: aaaaaaaa\r\n" * 512),
    "a URL": (b"GET /", b"x" * 8192),
    "empty lines": (b"", b"\r\n" * 4096),
    "a trailer": (
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nX: ",
        b"x" * 8192,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_a_head_without_end_is_answered_431_and_takes_no_memory(server: Server, name: str) -> None:
    begin, more = ENDLESS[name]
    before = server.process.memory_info().rss
    with closing(server.connect()) as connection:
        connection.sendall(begin)
        sent = send(connection, more, 20_000)
        answered = answer(connection)
    if name != "a trailer":  # the body has been answered 400 or 422 before its trailer is too large
        problem(answered, 431, "headers_too_large")
    assert sent < 20_000 * 8192
    assert server.process.memory_info().rss - before < 20_000_000
    assert server.client.get("/health/live").status_code == 200


@pytest.mark.slow
def test_large_headers_that_arrive_at_once_are_answered_431(server: Server) -> None:
    fits = server.client.get("/health/live", headers={"X": "x" * 60_000})
    assert fits.status_code == 200
    with closing(server.connect()) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 65_536 + b"\r\n\r\n")
        problem(answer(connection), 431, "headers_too_large")


HALF_SENT = {
    "headers": b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n",
    "a body": b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
    "documents": b"POST /collections/c/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
}


@pytest.mark.parametrize("name", HALF_SENT)
def test_half_a_request_is_answered_408(server: Server, name: str) -> None:
    started = time.monotonic()
    with closing(server.connect()) as connection:
        connection.sendall(HALF_SENT[name])
        problem(answer(connection), 408, "request_timeout")
    assert time.monotonic() - started > 0.4
    assert "Traceback" not in "".join(server.log)


@pytest.mark.slow
def test_bytes_now_and_then_do_not_keep_a_request_open(server: Server) -> None:
    with closing(server.connect()) as connection:
        connection.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n")
        connection.settimeout(0.1)
        until(lambda: is_closed(connection, b" "))  # long before the body is complete


@pytest.mark.parametrize("begin", [b"", b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"])
@pytest.mark.parametrize("more", [b"", b"\r\n"])
def test_idle_connections_are_closed(server: Server, begin: bytes, more: bytes) -> None:
    """Before the first request and between requests, even if the client sends empty lines."""
    with closing(server.connect()) as connection:
        connection.sendall(begin)
        connection.settimeout(0.1)
        until(lambda: is_closed(connection, more))


def is_closed(connection: socket.socket, more: bytes) -> bool:
    """True if the server has closed a connection by which it is sent some bytes more."""
    try:
        connection.sendall(more)
        return not connection.recv(65536)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_connections_beyond_the_limit_are_refused_and_make_room_again(server: Server) -> None:
    server.client.close()
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(server.connect())) for _ in range(300)]
        answer(connections[-1])  # the server has seen all
        assert server.process.num_fds() < 40 + 64 + 200
        refused = [answered for answered in map(answer, connections[40:104]) if answered]
        problem(refused[-1], 503, "too_many_connections")

    def is_answered() -> bool:
        with httpx.Client(base_url=server.client.base_url) as client, suppress(httpx.TransportError):
            return client.get("/health/live").status_code == 200
        return False

    until(is_answered)


@pytest.mark.slow
def test_requests_one_after_the_other_and_pipelined_ones_are_answered(server: Server) -> None:
    """Together they may take longer than one request. On a busy machine a pause may be longer than a server waits."""
    request = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def all_are_answered() -> bool:
        with closing(server.connect()) as connection, suppress(ConnectionError):
            for _ in range(3):
                connection.sendall(request)
                answered = b""
                while not answered.endswith(b'{"status":"live"}'):
                    if not (piece := connection.recv(65536)):
                        return False
                    answered += piece
                assert answered.startswith(b"HTTP/1.1 200")
                time.sleep(0.4)
            connection.sendall(request * 20)
            return answer(connection).count(b"HTTP/1.1 200 OK") == 20
        return False

    until(all_are_answered)


def test_a_body_buys_time_for_the_rest_of_it(server: Server) -> None:
    """A request may take longer than half a second while 64 KiB of its body arrive a second, or more.

    On a busy machine they may arrive more slowly, and are sent again.
    """
    pieces, size = 8, 2**16

    def is_read_to_its_end() -> bool:
        with closing(server.connect()) as connection, suppress(ConnectionError):
            head = f"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: {pieces * size + 2}\r\n"
            connection.sendall(head.encode() + b"Content-Type: application/json\r\nConnection: close\r\n\r\n{")
            for _ in range(pieces):
                connection.sendall(b" " * size)
                time.sleep(0.15)
            connection.sendall(b"}")
            return answer(connection).startswith(b"HTTP/1.1 422 ")
        return False

    until(is_read_to_its_end)
