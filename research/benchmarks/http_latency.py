"""Benchmark of the latency of ``POST /search`` to a caller of a served collection, encoding and scan included.

    python -m research.benchmarks.http_latency --source COLLECTION --units 100000 [--requests 2000] [--clients 8]

The first whole documents of the source, up to so many units, are copied into a data folder of their own and served by
a process of their own. One client asks phrases that do not stand in them, one after the other; then several clients
ask at once.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from app.cli.console import out, print_json
from app.encoders.encoders import Encoders
from app.settings import Settings
from indexer.catalog.leases import lease
from indexer.catalog.publish import publish
from indexer.segments.folders import new_folder, settle
from indexer.segments.merge import merge
from indexer.store import Store
from indexer.types import Recipe
from models.encoders.base import Encoder, encode_queries
from research.benchmarks.corpus import Split, first_documents
from research.benchmarks.phrases import sample_phrases
from research.benchmarks.prepare import opened
from research.benchmarks.rows import percentile
from research.evaluation.searching import scratch_store

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_COLLECTION = "bench"
_QUERIES = 500
_ENCODINGS = 200
_WORDS = 10
_START_S = 180.0
SERVE = ("-c", "from app.cli import main; main()", "serve")


@dataclass(frozen=True, slots=True)
class Answered:
    """One request: what the client waited, what the server says it took, and whether it was answered with 200.

    ``generation`` is the collection's that was searched.
    """

    wall_ms: float
    took_ms: float
    ok: bool
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Latency:
    """All figures are milliseconds, but for counts and ``requests_per_s``.

    ``overhead`` is what the client waited less what the server says the search took.
    """

    units: int
    encode_10_words_p50_ms: float
    p50_ms: float
    p99_ms: float
    took_p50_ms: float
    overhead_p50_ms: float
    overhead_p99_ms: float
    clients: int
    requests: int
    errors: int
    clients_p50_ms: float
    clients_p99_ms: float
    requests_per_s: float


class Connection:
    """JSON over one connection that is kept open. ``key`` is sent with each request."""

    def __init__(self, url: str, timeout_s: float = 60, *, key: str = "") -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=timeout_s)
        self._headers = {"authorization": f"Bearer {key}"} if key else {}

    def request(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        """The status and the body of an answer."""
        headers = {} if body is None else {"content-type": "application/json"}
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers | headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Client(Connection):
    """Asks for the best spans. ``options`` are further fields of its requests."""

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(url)
        self._body = {"collection": _COLLECTION, "top_k": 10} | dict(options or {})

    def ask(self, phrase: str) -> Answered:
        """One search."""
        started = time.perf_counter()
        try:
            status, answer = self.request("POST", "/search", self._body | {"text": phrase})
        except (OSError, HTTPException, ValueError):
            self.close()
            return Answered((time.perf_counter() - started) * 1000, 0.0, ok=False)
        wall_ms = (time.perf_counter() - started) * 1000
        took_ms, generation = float(answer.get("took_ms", 0.0)), int(answer.get("generation", 0))
        return Answered(wall_ms, took_ms, status == 200, generation)


def ask_all(url: str, phrases: Sequence[str], options: Mapping[str, Any] | None = None) -> list[Answered]:
    """Ask one phrase after the other, as one client."""
    with closing(Client(url, options)) as client:
        return [client.ask(phrase) for phrase in phrases]


def ask_together(
    url: str, phrases: Sequence[str], requests: int, clients: int, options: Mapping[str, Any] | None = None
) -> tuple[list[Answered], float]:
    """Let several clients share so many requests, and say how many seconds that took."""
    texts = [phrases[number % len(phrases)] for number in range(requests)]
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        shares = pool.map(lambda number: ask_all(url, texts[number::clients], options), range(clients))
        answered = [answer for share in shares for answer in share]
    return answered, time.perf_counter() - started


def encoding_ms(encoder: Encoder, phrases: Sequence[str]) -> float:
    """The median time to encode a query of ten words."""
    words = " ".join(phrases).split()
    texts = [" ".join(words[begin : begin + _WORDS]) for begin in range(0, len(words) - _WORDS + 1, _WORDS)]
    times = []
    for text in texts[:_ENCODINGS]:
        started = time.perf_counter()
        encode_queries(encoder, [text])
        times.append((time.perf_counter() - started) * 1000)
    return round(median(times), 3)


def publish_documents(store: Store, split: Split, recipe: Recipe) -> int:
    """Bring documents, with their stored vectors, into a collection of a store; returns the number of units."""
    collection = store.catalog.create_collection(_COLLECTION, recipe)
    with lease(store.catalog, _COLLECTION) as held:
        info, rows = merge(new_folder(store.folder(collection)), recipe, split.indexed)
        temporary = store.folder(collection) / info.name
        publish(store.catalog, held, replace(info, name=settle(temporary).name), rows)
    return info.units


@contextmanager
def serving(
    data_dir: Path, program: Sequence[str] = SERVE, *, checkout: Path | None = None, **settings: str
) -> Iterator[str]:
    """The address of a server on a data folder; it is stopped at the end.

    ``program`` is what Python runs, of another ``checkout`` if one is given; ``settings`` have names without their
    prefix.
    """
    process, url = started(data_dir, program, checkout=checkout, **settings)
    try:
        yield url
    finally:
        process.terminate()
        process.wait()


def started(
    data_dir: Path, program: Sequence[str] = SERVE, *, checkout: Path | None = None, **settings: str
) -> "tuple[subprocess.Popen[bytes], str]":
    """The process of a server on a data folder, which is ready, and its address."""
    environment = settings | {"data_dir": str(data_dir), "database_url": "", "port": "0"}
    variables = os.environ | {f"SPANSEEK_{name.upper()}": value for name, value in environment.items()}
    if checkout is not None:
        variables["PYTHONPATH"] = str(checkout.resolve())
    log = data_dir / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *program], cwd=checkout, env=variables, stdout=output, stderr=output
        )
    try:
        return process, _wait(process, log)
    except BaseException:
        process.terminate()
        process.wait()
        raise


def _wait(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Wait until the server says where it serves, and answers that it is ready."""
    url = ""

    def is_ready() -> bool:
        nonlocal url
        match = re.search(r"serves on (http://\S+)", log.read_text("utf-8", "replace"))
        url = match[1] if match else ""
        return bool(url) and _is_ready(url)

    _until(is_ready, lambda: process.poll() is not None, log)
    return url


def _until(ready: Callable[[], bool], dead: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while not ready():
        if dead() or time.monotonic() > deadline:
            raise SystemExit(f"The server did not start:\n{log.read_text('utf-8', 'replace')}")
        time.sleep(0.2)


def _is_ready(url: str) -> bool:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def measure(source: str, units: int, requests: int, clients: int, seed: int) -> Latency:
    """Serve so many units of a source and measure."""
    settings = Settings()
    encoders = Encoders(settings.encoder_options)
    with scratch_store() as store:
        with opened(source, settings, encoders) as snapshot:
            split = first_documents(snapshot, units)
            phrases = sample_phrases(split.rest, split.indexed, _QUERIES, seed)
            count = publish_documents(store, split, snapshot.recipe)
            encode = encoding_ms(encoders.matching(snapshot.recipe), phrases)
        with serving(store.data_dir) as url:
            ask_all(url, phrases[:20])
            alone = ask_all(url, phrases)
            together, seconds = ask_together(url, phrases, requests, clients)
    return summary(count, encode, alone, together, clients, seconds)


def summary(
    units: int, encode: float, alone: Sequence[Answered], together: Sequence[Answered], clients: int, seconds: float
) -> Latency:
    """The figures of one client's answers, and of many clients'."""
    return Latency(
        units=units,
        encode_10_words_p50_ms=encode,
        p50_ms=percentile([answer.wall_ms for answer in alone], 50),
        p99_ms=percentile([answer.wall_ms for answer in alone], 99),
        took_p50_ms=percentile([answer.took_ms for answer in alone], 50),
        overhead_p50_ms=percentile([answer.wall_ms - answer.took_ms for answer in alone], 50),
        overhead_p99_ms=percentile([answer.wall_ms - answer.took_ms for answer in alone], 99),
        clients=clients,
        requests=len(together),
        errors=sum(not answer.ok for answer in (*alone, *together)),
        clients_p50_ms=percentile([answer.wall_ms for answer in together], 50),
        clients_p99_ms=percentile([answer.wall_ms for answer in together], 99),
        requests_per_s=round(len(together) / seconds, 1),
    )


def print_figures(figures: "DataclassInstance", *, as_json: bool) -> None:
    """Print the fields of a dataclass, a line each, or as JSON."""
    values = asdict(figures)
    if as_json:
        print_json(values)
        return
    for name, value in values.items():
        out.print(f"{name:28s} {value:,}", markup=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, help="an indexed collection, or a file or folder to index first")
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    print_figures(measure(given.source, given.units, given.requests, given.clients, given.seed), as_json=given.json)


if __name__ == "__main__":
    main()
