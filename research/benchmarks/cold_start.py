"""Benchmark of the first search: a command from its start to its answer, a server until it is ready, and its memory.

    SPANSEEK_DATA_DIR=DATA python -m research.benchmarks.cold_start --collection sample \\
        [--old FOLDER] [--old-data DATA] [--runs 5]

``--old`` is a checkout to compare with: its runs and those of this one take turns, so that both meet the same machine.
``--old-data`` is the data directory of its runs: it cannot open a catalog that a newer version has migrated.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from app.cli.console import print_json

# The console script of either checkout: before version 0.2 it was another function.
_COMMAND = """
try:
    from app.__main__ import run
except ImportError:
    from app.cli import main as run
run()
"""
_PHRASES = ("the tenant must not sublet", "my husband passed away recently", "the printer is out of paper")
_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds and CPU seconds of one command, seconds until a server is ready, and its memory after some searches."""

    search_s: float
    search_cpu_s: float
    ready_s: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class State:
    """A checkout and the data directory that it opens; None: that of the environment."""

    checkout: Path
    data: Path | None = None


def measure(state: State, collection: str) -> Figures:
    """One cold search and one server."""
    search_s, search_cpu_s = _search(state, collection)
    ready_s, memory_mb = _serve(state, collection)
    return Figures(search_s, search_cpu_s, ready_s, memory_mb)


def medians(runs: Sequence[Figures]) -> Figures:
    """The median of every figure.

    >>> medians([Figures(1, 1, 1, 1), Figures(3, 3, 3, 3), Figures(2, 2, 9, 2)])
    Figures(search_s=2, search_cpu_s=2, ready_s=3, memory_mb=2)
    """

    def middle(figure: Callable[[Figures], float]) -> float:
        return round(median(map(figure, runs)), 3)

    return Figures(
        middle(lambda run: run.search_s),
        middle(lambda run: run.search_cpu_s),
        middle(lambda run: run.ready_s),
        middle(lambda run: run.memory_mb),
    )


def _search(state: State, collection: str) -> tuple[float, float]:
    before, started = os.times(), time.perf_counter()
    if _run(state, "search", _PHRASES[0], "-c", collection).wait():
        raise SystemExit(f"A search of {state.checkout} fails: has its data directory the collection {collection!r}?")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, cpu


def _serve(state: State, collection: str) -> tuple[float, float]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = time.perf_counter()
    server = _run(state, "serve", "--port", str(port))
    try:
        while _ask(port, "GET", "/health/ready") != 200:
            if time.perf_counter() - started > _PATIENCE_S or server.poll() is not None:
                raise SystemExit(f"The server of {state.checkout} does not get ready.")
            time.sleep(0.01)
        ready_s = time.perf_counter() - started
        for phrase in _PHRASES:
            _ask(port, "POST", "/search", {"collection": collection, "text": phrase})
        return ready_s, psutil.Process(server.pid).memory_info().rss / 1e6
    finally:
        server.terminate()
        server.wait()


def _ask(port: int, method: str, path: str, body: dict[str, Any] | None = None) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    try:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()


def _run(state: State, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"PYTHONPATH": str(state.checkout)}
    if state.data:
        environment["SPANSEEK_DATA_DIR"] = str(state.data)
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *arguments],
        cwd=state.checkout,
        env=environment,
        stdout=nowhere,
        stderr=nowhere,
    )


def main() -> None:
    """Print the medians as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", required=True)
    parser.add_argument("--old", type=Path)
    parser.add_argument("--old-data", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    states = {"new": State(Path(__file__).parents[2])} | (
        {"old": State(options.old, options.old_data)} if options.old else {}
    )
    runs: dict[str, list[Figures]] = {name: [] for name in states}
    for state in states.values():
        measure(state, options.collection)  # compiles, and reads files into the system's cache
    for _ in range(options.runs):
        for name, state in states.items():
            runs[name].append(measure(state, options.collection))
    print_json({name: asdict(medians(measured)) for name, measured in runs.items()})


if __name__ == "__main__":
    main()
