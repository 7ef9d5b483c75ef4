"""Benchmark of a newcomer's waits: importing the client, opening a folder, and its first hit, embedded and over HTTP.

    python -m research.benchmarks.first_hit

Every step is timed once, in processes of its own and a folder that is made for it; compiled kernels are those that
the installation has cached.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import spanseek
from app.cli.console import print_json
from research.benchmarks.http_latency import SERVE

_TEXTS = ["Somebody took my payment twice.", "Where is my parcel? It should have come on Monday."]
_PHRASE = "I was charged twice"
_REPEATS = 20


def main() -> None:
    """Time all steps, and print them in seconds as one line of JSON."""
    figures = {"import_s": _import_s()}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "first.spanseek"
        with _timed(figures, "open_s"):
            db = spanseek.open(data)
        with db, _timed(figures, "add_s"):
            db.collection("calls").add(_TEXTS, progress=False)
        with spanseek.open(data) as db:  # anew: what adding has loaded is not there
            _search(figures, "embedded", db)
        with _timed(figures, "serve_s"):
            server, url = _serving(data)
        try:
            with spanseek.connect(url) as db:
                _search(figures, "http", db)
        finally:
            server.terminate()
            server.wait()
    print_json({name: round(seconds, 4) for name, seconds in figures.items()} | {"load": os.getloadavg()[0]})


def _search(figures: dict[str, float], home: str, db: spanseek.Client) -> None:
    """The first search, and the median of those that follow."""
    calls = db.collection("calls")
    with _timed(figures, f"{home}_first_search_s"):
        calls.search(_PHRASE, k=1)
    figures[f"{home}_search_s"] = median(_seconds(lambda: calls.search(_PHRASE, k=1)) for _ in range(_REPEATS))


def _import_s() -> float:
    """The time of ``import spanseek``, by the interpreter's own account."""
    command = [sys.executable, "-X", "importtime", "-c", "import spanseek"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return int(told.splitlines()[-1].split("|")[1]) / 1e6


def _serving(data: Path) -> tuple["subprocess.Popen[str]", str]:
    environment = os.environ | {"SPANSEEK_DATA_DIR": str(data), "SPANSEEK_PORT": "0"}
    process = subprocess.Popen([sys.executable, *SERVE], env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"serves on (http://\S+)", line):
            return process, found[1]
    raise SystemExit("The server ended before it was ready.")


@contextmanager
def _timed(figures: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    figures[name] = time.perf_counter() - started


def _seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
