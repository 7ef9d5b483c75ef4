"""Uploads over HTTP: how fast a body of any size is received and indexed, and in how much memory.

    python -m research.benchmarks.upload_tasks [--megabytes 1000] [--document-words 100] [--word-letters 5]
        [--encoder hashing] [--gzip] [--cut] [--kill] [--json]

A server of its own receives a body of NDJSON that is made while it is sent, and indexes it as a task. One client
reads the task's progress and the memory of the server's process all the time. ``--cut`` first cuts a connection in
the middle of the same body, and waits until nothing of it is left. ``--kill`` kills the server with SIGKILL once,
after its first progress, and starts it again. At the end every document is counted.
"""

import argparse
import gzip
import json
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from itertools import islice, pairwise
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from app.cli.console import out, print_json
from app.collections.service import CollectionService
from app.services import Services, open_store
from app.settings import Settings
from indexer.catalog import schema
from models.errors import SpanseekError
from research.benchmarks.http_latency import SERVE, started

_COLLECTION = "bench"
_WORDS = 5_000
_PIECE = 2**20
_ENDED = ("done", "failed", "cancelled")
_IMPORT = f"/collections/{_COLLECTION}/documents/import"


@dataclass(frozen=True, slots=True)
class Body:
    """A body to send: so many bytes of documents of so many words of so many letters."""

    megabytes: int
    document_words: int
    packed: bool = False
    word_letters: int = 5

    @property
    def headers(self) -> dict[str, str]:
        """The headers that say what it is."""
        return {"Content-Type": "application/x-ndjson"} | ({"Content-Encoding": "gzip"} if self.packed else {})

    def pieces(self) -> Iterator[bytes]:
        """Its bytes; the same at every call."""
        for piece in _joined(self.lines()):
            yield gzip.compress(piece, 1) if self.packed else piece  # members of one file

    def lines(self) -> Iterator[bytes]:
        """Its lines."""
        draw, size, number = random.Random(25), 0, 0
        words = ["".join(draw.choices(ascii_lowercase, k=self.word_letters)) for _ in range(_WORDS)]
        while size < self.megabytes * 10**6:
            text = " ".join(draw.choices(words, k=self.document_words))
            line = json.dumps({"id": f"d{number}", "text": text}).encode() + b"\n"
            yield line
            size, number = size + len(line), number + 1


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The figures of one upload. ``idle_mb`` and ``peak_mb`` are the resident memory of the server's process."""

    megabytes: float
    sent_megabytes: float
    documents: int
    units: int
    receive_s: float
    receive_mb_per_s: float
    index_s: float
    index_mb_per_s: float
    idle_mb: float
    receiving_peak_mb: float
    peak_mb: float
    progress_steps: int
    progress_fell: int
    starts: int
    counts: dict[str, int]
    missing: int
    cut_megabytes: float = 0.0


class Server:
    """A server process on a data folder, and how much memory it takes."""

    def __init__(self, data_dir: Path, encoder: str) -> None:
        self._data_dir, self._encoder = data_dir, encoder
        self.start()

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        self.process, self.url = started(self._data_dir, SERVE, encoder=self._encoder)

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.wait()

    def memory_mb(self, name: str = "VmHWM") -> float:
        """Its resident memory: the peak, or with ``VmRSS`` what it is now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        (line,) = (line for line in status.splitlines() if line.startswith(f"{name}:"))
        return round(int(line.split()[1]) / 1024, 1)

    def get(self, path: str) -> dict[str, Any]:
        """The answer to a GET."""
        with closing(self._connection()) as connection:
            connection.request("GET", path)
            answer: dict[str, Any] = json.loads(connection.getresponse().read())
            return answer

    def send(self, body: Body) -> tuple[str, int]:
        """Upload a body; returns the task's id and the number of bytes that were sent."""
        sent = 0

        def counted() -> Iterator[bytes]:
            nonlocal sent
            for piece in body.pieces():
                sent += len(piece)
                yield piece

        with closing(self._connection()) as connection:
            connection.request("POST", _IMPORT, counted(), body.headers, encode_chunked=True)
            response = connection.getresponse()
            answer = json.loads(response.read())
        if response.status != 202:
            raise SystemExit(f"Error: {answer}")
        return answer["id"], sent

    def cut(self, body: Body) -> float:
        """Cut the connection in the middle of a body, and wait until the server holds nothing of it; returns its MB."""
        sent = 0
        with closing(self._connection()) as connection:
            connection.putrequest("POST", _IMPORT)
            for name, value in (*body.headers.items(), ("Transfer-Encoding", "chunked")):
                connection.putheader(name, value)
            connection.endheaders()
            for piece in islice(body.pieces(), max(1, body.megabytes * 10**6 // _PIECE // 2)):
                connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                sent += len(piece)
        while list((self._data_dir / "tasks").rglob("body*")):
            time.sleep(0.1)
        if self.get("/tasks")["tasks"]:
            raise SystemExit("Error: A body that was cut off became a task.")
        return round(sent / 10**6, 1)

    def _connection(self) -> HTTPConnection:
        address = urlsplit(self.url)
        return HTTPConnection(str(address.hostname), address.port, timeout=600)


def measure(body: Body, encoder: str, *, cut: bool = False, kill: bool = False) -> Uploaded:
    """Upload a body to a server of its own, and wait until it is indexed."""
    with _collection(encoder) as settings:
        server = Server(settings.data_dir, encoder)
        try:
            idle = server.memory_mb("VmRSS")
            cut_megabytes = server.cut(body) if cut else 0.0
            begun = time.perf_counter()
            id, sent = server.send(body)
            received = time.perf_counter()
            receiving_peak = server.memory_mb()
            progress, peak = _watch(server, id, kill=kill)
            ended = time.perf_counter()
            task = server.get(f"/tasks/{id}")
        finally:
            server.stop()
        size = task["progress"]["total"] / 10**6
        described, missing = _check(settings, body)
    return Uploaded(
        megabytes=round(size, 1),
        sent_megabytes=round(sent / 10**6, 1),
        documents=described.documents,
        units=described.units,
        receive_s=round(received - begun, 2),
        receive_mb_per_s=round(size / (received - begun), 2),
        index_s=round(ended - received, 2),
        index_mb_per_s=round(size / (ended - received), 2),
        idle_mb=idle,
        receiving_peak_mb=receiving_peak,
        peak_mb=peak,
        progress_steps=len(set(progress)),
        progress_fell=sum(after < before for before, after in pairwise(progress)),
        starts=task["starts"],
        counts=task["counts"],
        missing=missing,
        cut_megabytes=cut_megabytes,
    )


def _watch(server: Server, id: str, *, kill: bool) -> tuple[Sequence[int], float]:
    """The progress of a task until it ends, and the most memory of any of the server's processes."""
    progress, peak = [], 0.0
    while True:
        task = server.get(f"/tasks/{id}?wait={0 if kill else 0.5}")
        progress.append(task["progress"]["done"])
        peak = max(peak, server.memory_mb())
        if task["status"] in _ENDED:
            return progress, peak
        if kill and progress[-1]:
            server.kill()
            server.start()
            kill = False


@contextmanager
def _collection(encoder: str) -> Iterator[Settings]:
    with TemporaryDirectory(prefix="spanseek-") as folder:
        settings = Settings(_env_file=None, data_dir=Path(folder), encoder=encoder, database_url="")
        schema.upgrade(settings.catalog_url)
        store = open_store(settings)
        with closing(store.catalog):
            Services(settings, store).get(CollectionService).create(_COLLECTION)
        yield settings


def _check(settings: Settings, body: Body) -> tuple[Any, int]:
    """The collection, and the number of documents that it lacks."""
    store = open_store(settings)
    with closing(store.catalog):
        described = Services(settings, store).get(CollectionService).describe(_COLLECTION)
    return described, sum(1 for _ in body.lines()) - described.documents


def _joined(lines: Iterator[bytes]) -> Iterator[bytes]:
    pieces: list[bytes] = []
    size = 0
    for line in lines:
        pieces.append(line)
        size += len(line)
        if size >= _PIECE:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--document-words", type=int, default=100)
    parser.add_argument("--word-letters", type=int, default=5)
    parser.add_argument("--encoder", default="hashing")
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--cut", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    body = Body(given.megabytes, given.document_words, given.gzip, given.word_letters)
    try:
        figures = asdict(measure(body, given.encoder, cut=given.cut, kill=given.kill))
    except SpanseekError as error:
        raise SystemExit(f"Error: {error}\n{error.hint}") from error
    if given.json:
        print_json(figures)
        return
    for name, value in figures.items():
        out.print(f"{name:18s} {value}", markup=False)


if __name__ == "__main__":
    main()
