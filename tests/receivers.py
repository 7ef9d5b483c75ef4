"""Receivers of webhooks on this machine, which note what they get and answer as they are told."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Received:
    """A request: its path, its headers by lower-case names, and its body."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """A receiver; ``answer`` gives the status of a request, and ``more`` further headers."""

    answer: Callable[[Received], int] = lambda received: 204
    more: dict[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    url: str = ""


@contextmanager
def receiving(receiver: Receiver | None = None, port: int = 0) -> Iterator[Receiver]:
    """A receiver that listens on 127.0.0.1."""
    target = receiver or Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            target.received.append(got)
            with suppress(OSError):  # nobody waits for the answer any more
                self.send_response(target.answer(got))
                for name, value in target.more.items():
                    self.send_header(name, value)
                self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        target.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield target
        finally:
            server.shutdown()


@contextmanager
def dripping() -> Iterator[str]:
    """The URL of a receiver that sends its answer's head byte by byte, and never all of it."""
    done = threading.Event()

    def drip(connection: socket.socket) -> None:
        with closing(connection), suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nx-slow: ")
            while not done.wait(0.02):
                connection.sendall(b"a")

    def accept(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=drip, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, args=(listening,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            done.set()


@contextmanager
def refusing() -> Iterator[str]:
    """A URL whose port is taken, and on which nobody listens."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/"
