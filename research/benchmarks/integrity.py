"""Benchmark of verifying the files of opened segments: seconds a gigabyte, and searches beside it and after it.

    SPANSEEK_DATA_DIR=DATA python -m research.benchmarks.integrity --collection NAME [--rounds 200]

``open`` is what a search waits for when a segment is opened, ``verify`` what the background thread needs. ``snapshot``
is the share of its time that a server spends on looking for damage of opened segments, four times a second.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from threading import Event, Thread

import numpy as np

from app.cli.console import print_json
from app.services import open_store
from app.settings import Settings
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.segments.manifest import verify_files
from models.priority import lower_priority
from models.types import QueryVectors


def seconds(work: Callable[[], object], rounds: int = 1) -> float:
    """The median duration of a call."""
    durations = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        durations.append(time.perf_counter() - started)
    return median(durations)


def beside(work: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """The median duration of a call while another is repeated in a thread of low priority."""
    stop = Event()

    def repeat() -> None:
        lower_priority()
        while not stop.is_set():
            other()

    thread = Thread(target=repeat)
    thread.start()
    try:
        return seconds(work, rounds)
    finally:
        stop.set()
        thread.join()


def figures(snapshot: Snapshot, query: QueryVectors, rounds: int) -> dict[str, float]:
    """All figures of one snapshot."""
    segments = [view.segment for view in snapshot.views]
    gigabytes = sum(segment.manifest.bytes for segment in segments) / 1e9

    def verify(large: bool) -> None:
        for segment in segments:
            verify_files(segment.folder, segment.manifest, large=large)

    def once() -> object:
        return search(snapshot, SpanScan(query), Selection())

    once()
    alone = seconds(once, rounds)
    return {
        "units": snapshot.units,
        "gigabytes": round(gigabytes, 3),
        "open_ms": round(1e3 * seconds(lambda: verify(False), 5), 2),
        "verify_s_per_gb": round(seconds(lambda: verify(True), 3) / gigabytes, 3),
        "search_ms": round(1e3 * alone, 2),
        "search_beside_verify_ms": round(1e3 * beside(once, lambda: verify(True), rounds), 2),
        "snapshot_share": round(4 * seconds(snapshot.is_outdated, rounds), 5),
    }


def main() -> None:
    """Print the figures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", required=True)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    snapshot = open_store(Settings()).snapshot(options.collection)
    vector = np.random.default_rng(13).normal(size=(1, snapshot.recipe.dim)).astype(np.float32)
    print_json(figures(snapshot, vector / np.linalg.norm(vector), options.rounds))


if __name__ == "__main__":
    main()
