"""Buckets for tests: in memory, in a folder, and an S3 server that fails as it is told."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from moto.server import create_backend_app
from werkzeug.serving import make_server

from spanseek_bucket import objects
from spanseek_bucket.objects import open_bucket
from spanseek_bucket.segments import BucketSegments

# What the server does to a request instead of answering well; None answers well.
Fault = Callable[["Request"], "Answer | None"]
Answer = tuple[str, list[tuple[str, str]], Iterable[bytes]]


class Request:
    """A request to the server, and the good answer to it, if it is asked for."""

    def __init__(self, environ: dict[str, Any], application: Any) -> None:
        self.method, self.path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self._environ, self._application = environ, application

    def answer(self) -> tuple[str, list[tuple[str, str]], bytes]:
        """Status, headers and body."""
        started: list[Any] = []
        chunks = self._application(self._environ, lambda status, headers, info=None: started.extend((status, headers)))
        return started[0], started[1], b"".join(chunks)


class FaultyServer:
    """moto's S3 server behind a gate. ``fault`` sees every request first; ``requests`` are those it saw."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._moto = create_backend_app("s3")
        self._server = make_server(host, 0, self, threaded=True)
        self.url = f"http://{host}:{self._server.port}"
        self.fault: Fault = lambda request: None
        self.requests: list[tuple[str, str]] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = Request(environ, self._moto)
        self.requests.append((request.method, request.path))
        status, headers, body = self.fault(request) or well(request)
        start_response(status, headers)
        return body

    @contextmanager
    def running(self) -> Iterator["FaultyServer"]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    @contextmanager
    def failing(self, fault: Fault) -> Iterator[None]:
        """Fail like this while the block runs."""
        before, self.fault = self.fault, fault
        try:
            yield
        finally:
            self.fault = before


def well(request: Request) -> Answer:
    """The answer of a server that works."""
    status, headers, body = request.answer()
    return status, headers, [body]


def broken(request: Request) -> Answer:
    """500."""
    return "500 Internal Server Error", [("Content-Type", "text/plain"), ("Content-Length", "0")], []


def cut(request: Request) -> Answer:
    """The first half of the body, and the end of the connection."""
    status, headers, body = request.answer()

    def half() -> Iterator[bytes]:
        yield body[: len(body) // 2]
        raise ConnectionAbortedError

    return status, headers, half()


def slow(request: Request) -> Answer:
    """What is right, after two seconds."""
    time.sleep(2)
    return well(request)


def flipped(request: Request) -> Answer:
    """The body with one bit that is another."""
    status, headers, body = request.answer()
    changed = bytearray(body)
    changed[len(changed) // 2] ^= 1
    return status, headers, [bytes(changed)]


def missing(request: Request) -> Answer:
    """404."""
    return "404 Not Found", [("Content-Length", "0")], []


def of(method: str, fault: Fault, name: str = "", *, times: int = 10**6) -> Fault:
    """The fault of so many requests by a method for objects whose names end so."""
    left = iter(range(times))

    def failing(request: Request) -> Answer | None:
        is_meant = request.method == method and request.path.endswith(name) and "collections/" in request.path
        return fault(request) if is_meant and next(left, None) is not None else None

    return failing


@contextmanager
def quick_server() -> Iterator[FaultyServer]:
    """A server of which clients in this process despair quickly, but not because the machine is busy."""
    moment, network = timedelta(milliseconds=1), objects._OF_NETWORK
    quick = {"max_retries": 2, "backoff": {"init_backoff": moment, "max_backoff": moment, "base": 2}}
    patient = {"connect_timeout": "60s", "read_timeout": "300s"}
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(network, "retry_config", network["retry_config"] | quick)
        patched.setitem(network, "client_options", network["client_options"] | patient)
        patched.setattr(objects, "_PAUSES_S", (0.0, 0.0))
        with serving() as server:
            yield server


@contextmanager
def serving(host: str = "127.0.0.1") -> Iterator[FaultyServer]:
    """A server with one bucket, ``bucket``, which the environment names to clients."""
    server = FaultyServer(host)
    named = {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in named}
    os.environ.update(named)
    try:
        with server.running():
            httpx.put(f"{server.url}/bucket").raise_for_status()
            yield server
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def bucket_segments(url: str, folder: Path, limit: int = 2**30) -> BucketSegments:
    """The segments of a bucket, with a cache in a folder."""
    return BucketSegments(open_bucket(url), folder, limit)
