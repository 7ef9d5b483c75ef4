"""Requests that are no HTTP, or wrong HTTP, or HTTP with a wrong body: no 5xx, no hang, and others are answered."""

import json
import random
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from app.settings import Settings
from indexer.catalog.schema import upgrade
from tests.faults.places import ROUNDS
from tests.serving import running
from tests.waiting import until

REQUESTS = 10_000 * ROUNDS or 400
_CLIENTS: Final = 8
# The server closes a connection that sends nothing after a second; a busy machine may take a little longer.
_LONGEST_S: Final = 200
_MOST_MB: Final = 500
_ROUTES: Final = (
    ("POST", "/search", {"collection": "c", "text": "late"}),
    ("POST", "/collections/c/documents", {"id": "a", "text": "It is late."}),
    ("GET", "/collections/c/documents?limit=3&cursor=x", None),
    ("PUT", "/collections/d", {"encoder": "hashing"}),
    ("POST", "/collections/c/documents/import", None),
    ("DELETE", "/collections/c/documents", {"ids": ["a"]}),
    ("PATCH", "/collections/c/documents/a", {"metadata": {"a": 1}}),
    ("GET", "/openapi.json", None),
    ("POST", "/spans", {"texts": ["It is late."], "text": "late"}),
)

Mutation = Callable[[bytes, random.Random], bytes]


def request(chance: random.Random) -> bytes:
    """A request that is right."""
    method, path, body = chance.choice(_ROUTES)
    content = b"" if body is None else json.dumps(body).encode()
    kind = "application/x-ndjson" if path.endswith("import") else "application/json"
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def flipped(whole: bytes, chance: random.Random) -> bytes:
    body = bytearray(whole)
    for _ in range(chance.randint(1, 8)):
        body[chance.randrange(len(body))] = chance.randrange(256)
    return bytes(body)


def cut(whole: bytes, chance: random.Random) -> bytes:
    return whole[: chance.randint(1, len(whole))]


def doubled(whole: bytes, chance: random.Random) -> bytes:
    at, length = chance.randrange(len(whole)), chance.randint(1, 64)
    return whole[:at] + whole[at : at + length] * chance.randint(2, 200) + whole[at:]


def with_header(whole: bytes, chance: random.Random) -> bytes:
    lines = [
        b"Content-Length: -1",
        b"Content-Length: 99999999999999999999",
        b"Content-Length: 5",
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: gzip, chunked",
        b"Content-Encoding: gzip",
        b"Expect: 100-continue",
        b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
        b"X: " + b"a" * chance.randint(1, 100_000),
        b"Accept: " + bytes(chance.randrange(128, 256) for _ in range(20)),
        b" folded: yes",
        b"X\x00Y: z",
        b"Host: other",
        b"Authorization: Bearer " + bytes(chance.randrange(33, 256) for _ in range(40)),
        b"If-None-Match: \xff",
        b"Range: bytes=9-1,-0",
    ]
    head, _, body = whole.partition(b"\r\n")
    return head + b"\r\n" + chance.choice(lines) + b"\r\n" + body


def with_body(whole: bytes, chance: random.Random) -> bytes:
    bodies = [
        b"[" * chance.randint(1, 100_000),
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"collection": "c", "text": "\\ud800"}',
        b'{"collection": "c", "text": "\x00"}',
        b'{"collection": "c", "text": "a", "top_k": 1e400}',
        b'{"collection": "c", "text": "a", "top_k": ' + b"9" * 5_000 + b"}",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b"NaN",
        b'{"id": "a", "id": "b", "text": "x"}',
        bytes(chance.randrange(256) for _ in range(300)),
    ]
    body = chance.choice(bodies)
    line, _, _ = whole.partition(b"\r\n")
    head = b"\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return line + head + body


def with_target(whole: bytes, chance: random.Random) -> bytes:
    targets = [
        b"/../../etc/passwd",
        b"/%2e%2e/%00",
        b"//",
        b"*",
        b"http://other/",
        b"/collections/" + b"%ff" * chance.randint(1, 300),
        b"/collections/c/documents?limit=" + b"9" * 400,
        b"/collections/c/documents/" + b"a" * 9_000,
        b"/\xc3\x28",
        b"/search?" + b"&".join(b"a%d=%d" % (n, n) for n in range(2_000)),
    ]
    method, _, rest = whole.partition(b" ")
    return method + b" " + chance.choice(targets) + b" " + rest.partition(b" ")[2]


def chunked(whole: bytes, chance: random.Random) -> bytes:
    sizes = [b"-1", b"zz", b"FFFFFFFFFFFFFFFFF", b"5;" + b"x" * 5_000, b"", b"0x5", b"5\r\nhello\r\n3"]
    line, _, _ = whole.partition(b"\r\n")
    head = b"\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return line + head + chance.choice(sizes) + b"\r\n{}\r\n0\r\n\r\n"


MUTATIONS: Final[tuple[Mutation, ...]] = (flipped, cut, doubled, with_header, with_body, with_target, chunked)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Any, httpx.Client]]:
    settings = Settings(_env_file=None, data_dir=tmp_path / "data", encoder="hashing", database_url="")
    settings.data_dir.mkdir()
    upgrade(settings.catalog_url)
    with running(settings, read_timeout_s=1, keep_alive_s=1) as (process, client):
        assert client.put("/collections/c").is_success
        assert client.post("/collections/c/documents", json={"id": "b", "text": "The parcel is late."}).is_success
        yield process, client


def answered(address: tuple[str, int], sent: bytes) -> bytes:
    """Everything that the server answers until it closes the connection. Raises ``TimeoutError`` if it does not."""
    with socket.create_connection(address, timeout=_LONGEST_S) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        received = b""
        with suppress(ConnectionResetError):
            while piece := connection.recv(65_536):
                received += piece
        return received


def statuses(received: bytes) -> list[int]:
    """The statuses of all answers of a connection; what is no answer at all counts as 599."""
    if received and not received.startswith(b"HTTP/1."):
        return [599]
    heads = received.split(b"HTTP/1.1 ")[1:]
    return [int(head[:3]) for head in heads if head[:3].isdigit() and head[3:4] == b" "]


@pytest.mark.slow("thousands of requests")
@pytest.mark.timeout(3600)
def test_malformed_requests(server: tuple[Any, httpx.Client]) -> None:
    process, client = server
    url = urlsplit(str(client.base_url))
    address = (str(url.hostname), int(url.port or 0))

    def attack(seed: int) -> None:
        chance = random.Random(seed)
        sent = request(chance)
        for _ in range(chance.randint(1, 2)):
            sent = chance.choice(MUTATIONS)(sent, chance)
        failed = [status for status in statuses(answered(address, sent)) if status >= 500]
        assert failed == [], f"seed {seed}: {sent[:300]!r}"

    with ThreadPoolExecutor(_CLIENTS) as pool:
        for number, _ in enumerate(pool.map(attack, range(REQUESTS))):
            if number % 100 == 0:
                until(lambda: client.get("/health/ready").status_code == 200)
    assert client.post("/search", json={"collection": "c", "text": "late"}).status_code == 200
    assert process.poll() is None
    assert psutil.Process(process.pid).memory_info().rss < _MOST_MB * 2**20
