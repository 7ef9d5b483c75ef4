"""Benchmark of search latency while others upload gzip bombs, wait for tasks, or wait for a catalog that is locked.

    python -m research.benchmarks.under_attack --seconds 10 --pairs 3

Each attack is measured in pairs, idle and attacked, of one server with a new collection; the last line has the ratios
of the 99th percentiles as JSON. Attackers are processes of low priority: their own work would be done elsewhere.
"""

import argparse
import gzip
import http.client
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

PORT: Final = 8331
DOCUMENTS: Final = 5_000
PAUSE_S: Final = 0.01
UPLOADS: Final = "/collections/t/documents/import"
NDJSON: Final = {"Content-Type": "application/x-ndjson"}
SEARCH: Final = json.dumps({"collection": "t", "text": "the parcel was late"}).encode()


def request(method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=200)
    connection.request(method, path, body, headers or {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


@contextmanager
def serving(folder: Path) -> Iterator[None]:
    environment = os.environ | {"SPANSEEK_DATA_DIR": str(folder), "SPANSEEK_ENCODER": "hashing"}
    environment |= {"SPANSEEK_LOG_LEVEL": "error", "OMP_NUM_THREADS": "1", "SPANSEEK_PORT": str(PORT)}
    spanseek = [sys.executable, "-m", "app"]
    lines = (json.dumps({"id": str(n), "text": f"Parcel {n} came {n % 7} days late, and nobody said why."})
             for n in range(DOCUMENTS))  # fmt: skip
    source = folder.with_suffix(".ndjson")
    source.write_text("\n".join(lines))
    for arguments in (["init-db"], ["index", "-c", "t", "--source", str(source)]):
        subprocess.run([*spanseek, *arguments], env=environment, check=True, capture_output=True)
    with subprocess.Popen([*spanseek, "serve"], env=environment) as server:
        while True:
            with suppress(OSError):
                if request("GET", "/health/ready")[0] == 200:
                    break
            time.sleep(0.2)
        try:
            yield
        finally:
            server.kill()


def searched(seconds: float) -> list[float]:
    """The times of searches, one after the other; one that fails took for ever."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        answered = request("POST", "/search", SEARCH)[0] == 200
        times.append(time.perf_counter() - begun if answered else float("inf"))
        time.sleep(PAUSE_S)
    return sorted(times)


def bombs(folder: Path) -> None:
    line = b" " * 2**20 + b"\n"
    body = b"".join([gzip.compress(line * 64)] * 200)  # unpacks to 13 GB
    while True:
        request("POST", UPLOADS, body, **NDJSON, **{"Content-Encoding": "gzip"})


def unpacked(folder: Path) -> None:
    """A bomb that was accepted, read by its task."""
    body = b"".join([gzip.compress((b" " * 2**20 + b"\n") * 64)] * 30)  # 2 GB
    while True:
        id = json.loads(request("POST", UPLOADS, body, **NDJSON, **{"Content-Encoding": "gzip"})[1])["id"]
        while json.loads(request("GET", f"/tasks/{id}?wait=60")[1])["status"] in ("queued", "running"):
            pass


def waits(folder: Path) -> None:
    id = json.loads((folder / "stuck").read_text())
    while True:
        request("GET", f"/tasks/{id}?wait=30")


def begins(folder: Path) -> None:
    while True:
        request("POST", UPLOADS, b'{"id": "x", "text": "y"}\n', **NDJSON)


def thresholds(folder: Path) -> None:
    while True:
        request("PUT", "/admin/collections/t/thresholds", b'{"value": 0.5, "on": "score"}')


@contextmanager
def nothing(folder: Path) -> Iterator[None]:
    yield


@contextmanager
def stuck(folder: Path) -> Iterator[None]:
    """A task that no server runs."""
    id = json.loads(request("POST", "/tasks", b'{"kind": "optimize", "collection": "t"}')[1])["id"]
    time.sleep(2)
    elsewhere = "status = 'running', holder = 'elsewhere:1:1', target_id = 'x', expires_at = '2099-01-01'"
    with sqlite3.connect(folder / "catalog.sqlite3", timeout=60) as connection:
        connection.execute(f"UPDATE tasks SET {elsewhere} WHERE id = ?", (id,))
    (folder / "stuck").write_text(json.dumps(id))
    yield


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    connection = sqlite3.connect(folder / "catalog.sqlite3", isolation_level=None, timeout=60)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


ATTACKS: Final = {
    "bombs arrive": (nothing, [bombs] * 8),
    "bombs are read": (nothing, [unpacked] * 2),
    "300 requests wait": (stuck, [waits] * 300),
    "catalog locked, uploads": (locked, [begins] * 20),
    "catalog locked, thresholds": (locked, [thresholds] * 50),
}


def _attack(act: Callable[[Path], None], folder: Path) -> None:
    os.nice(10)
    with suppress(Exception):
        act(folder)


def _percentile(times: list[float], share: float) -> float:
    return times[min(int(share * len(times)), len(times) - 1)]


def measure(name: str, folder: Path, seconds: float) -> dict[str, float]:
    around, attackers = ATTACKS[name]
    idle = searched(seconds)
    with around(folder):
        processes: list[BaseProcess] = [get_context("fork").Process(target=_attack, args=(each, folder))
                                        for each in attackers]  # fmt: skip
        for process in processes:
            process.start()
        time.sleep(2)
        attacked = searched(seconds)
        for process in processes:
            process.kill()
    time.sleep(3)
    figures = {f"p{share}_{kind}_ms": round(_percentile(times, share / 100) * 1000, 2)
               for kind, times in (("idle", idle), ("attacked", attacked)) for share in (50, 99)}  # fmt: skip
    return figures | {"failed": sum(each == float("inf") for each in attacked), "load": round(os.getloadavg()[0], 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--attack", action="append", choices=list(ATTACKS))
    chosen = parser.parse_args()
    ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "data")
        folder.mkdir()
        for name in chosen.attack or ATTACKS:
            with serving(folder):
                searched(2)
                pairs = [measure(name, folder, chosen.seconds) for _ in range(chosen.pairs)]
            for pair in pairs:
                print(name, pair, flush=True)
            ratios[name] = round(statistics.median(pair["p99_attacked_ms"] / pair["p99_idle_ms"] for pair in pairs), 2)
    print(json.dumps(ratios))


if __name__ == "__main__":
    main()
