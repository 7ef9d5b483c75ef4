"""Limits on requests: a server process, and clients that send too much or too slowly.

What a proxy limits, such as heads that never end in time and the number of connections, is in docs/operating.md.
"""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
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
    """Half a second for a body, a second between requests."""
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("data"), encoder="hashing", database_url="")
    upgrade(settings.catalog_url)
    limits = {"read_timeout_s": 0.5, "keep_alive_s": 1}
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
    assert re.search(rb"^x-request-id: [0-9a-f]{32}\r?$", head, re.MULTILINE | re.IGNORECASE)
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


@pytest.mark.slow("waits for real seconds")
@pytest.mark.parametrize("name", ENDLESS)
def test_a_head_without_end_is_refused(server: Server, name: str) -> None:
    begin, more = ENDLESS[name]
    with closing(server.connect()) as connection:
        connection.sendall(begin)
        sent = send(connection, more, 20_000)
        answered = answer(connection)
    if answered and name != "a trailer":  # the body has been answered 400 or 422 before its trailer is too large
        assert answered.startswith(b"HTTP/1.1 400 ")
    assert sent < 20_000 * len(more)
    assert server.client.get("/health/live").status_code == 200


@pytest.mark.slow("waits for real seconds")
def test_large_headers_that_arrive_at_once_are_answered_431(server: Server) -> None:
    fits = server.client.get("/health/live", headers={"X": "x" * 60_000})
    assert fits.status_code == 200
    with closing(server.connect()) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 65_536 + b"\r\n\r\n")
        problem(answer(connection), 431, "headers_too_large")


HALF_SENT = {
    "a body": b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
    "documents": b"POST /collections/c/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
}


@pytest.mark.parametrize("name", HALF_SENT)
def test_half_a_body_is_answered_408(server: Server, name: str) -> None:
    with closing(server.connect()) as connection:
        connection.sendall(HALF_SENT[name])
        problem(answer(connection), 408, "request_timeout")
    assert "Traceback" not in "".join(server.log)


@pytest.mark.slow("waits for real seconds")
def test_bytes_now_and_then_do_not_keep_a_request_open(server: Server) -> None:
    with closing(server.connect()) as connection:
        connection.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n")
        connection.settimeout(0.05)
        with suppress(ConnectionError):
            for _ in range(2_000):
                connection.sendall(b" ")
                with suppress(TimeoutError):
                    if not connection.recv(65536):
                        return
            pytest.fail("the connection is still open")


def test_idle_connections_are_closed(server: Server) -> None:
    with closing(server.connect()) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.slow("waits for real seconds")
def test_requests_one_after_the_other_and_pipelined_ones_are_answered(server: Server) -> None:
    """Together they take longer than one may. A pause of a busy machine may be longer than the server waits."""
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
                time.sleep(0.4)
            connection.sendall(request * 20)
            return answer(connection).count(b"HTTP/1.1 200 OK") == 20
        return False

    until(all_are_answered)
    assert not [line for line in server.log if "Traceback" in line]


@pytest.mark.slow("waits for real seconds")
@pytest.mark.parametrize("hosts", [b"", b"Host: localhost\r\nHost: other.example\r\n"])
def test_a_request_names_one_host(server: Server, hosts: bytes) -> None:
    with closing(server.connect()) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\n" + hosts + b"\r\n")
        assert answer(connection).startswith(b"HTTP/1.1 400 ")
