"""One engine on one case, measured in a process of its own.

    python -m research.benchmarks.worker CASE ENGINE FOLDER --threads 2 --build

Prints what was measured as one line of JSON. The process may use only so many cores as it has threads. It needs numpy,
jaxtyping and the engine's package, so that an engine's own environment will do.
"""

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from research.benchmarks.case import Case, Queries
from research.benchmarks.engines.base import BenchEngine, Refused
from research.benchmarks.engines.registry import ENGINES

BATCH = 32
# Fewer timings than this say nothing about the slowest of a hundred.
_LEAST = 20
_WARM_UP = 5


@dataclass(slots=True)
class Measured:
    """Measurements of one engine in one process, in milliseconds and megabytes (2**20 bytes)."""

    build_s: float | None
    bytes: int
    latencies_ms: list[float]
    batches_ms: list[float]
    answers: list[list[int] | list[list[int]]]
    peak_rss_mb: float
    anonymous_mb: float


def measure(engine: BenchEngine, case: Case, folder: Path, build: bool, limit_s: float) -> Measured:
    """Build if asked to, open, and search: the queries one by one, then in batches, each for at most ``limit_s``."""
    build_s = _timed_build(engine, case, folder) if build else None
    engine.open(case, folder)
    _warm_up(engine, case.queries)
    latencies, answers = _one_by_one(engine, case.queries, limit_s)
    return Measured(
        build_s=build_s,
        bytes=engine.size(folder),
        latencies_ms=latencies,
        batches_ms=_in_batches(engine, case.queries, limit_s),
        answers=answers,
        peak_rss_mb=_memory_mb("VmHWM"),
        anonymous_mb=_memory_mb("RssAnon"),
    )


def _timed_build(engine: BenchEngine, case: Case, folder: Path) -> float:
    started = time.perf_counter()
    engine.build(case, folder)
    return time.perf_counter() - started


def _warm_up(engine: BenchEngine, queries: Queries) -> None:
    """Warm the engine up: what is compiled or read at first use is no part of a latency."""
    for number in range(min(_WARM_UP, len(queries))):
        engine.search(queries[number : number + 1])
    engine.search(queries[:BATCH])


def _one_by_one(
    engine: BenchEngine, queries: Queries, limit_s: float
) -> tuple[list[float], list[list[int] | list[list[int]]]]:
    latencies: list[float] = []
    answers: list[list[int] | list[list[int]]] = []
    deadline = time.perf_counter() + limit_s
    for number in range(len(queries)):
        started = time.perf_counter()
        if started > deadline and number >= _LEAST:
            break
        (answer,) = engine.search(queries[number : number + 1])
        latencies.append((time.perf_counter() - started) * 1000)
        answers.append(answer.tolist())
    return latencies, answers


def _in_batches(engine: BenchEngine, queries: Queries, limit_s: float) -> list[float]:
    """Milliseconds of every whole batch; of the only one, where there are not enough queries for two."""
    batches: list[float] = []
    deadline = time.perf_counter() + limit_s
    for begin in range(0, max(1, len(queries) - BATCH + 1), BATCH):
        started = time.perf_counter()
        if started > deadline and batches:
            break
        engine.search(queries[begin : begin + BATCH])
        batches.append((time.perf_counter() - started) * 1000)
    return batches


def _memory_mb(field: str) -> float:
    """A figure of this process's memory. Not from ``getrusage``: a child inherits its parent's peak there."""
    status = Path("/proc/self/status").read_text("ascii")
    (line,) = (line for line in status.splitlines() if line.startswith(f"{field}:"))
    return round(int(line.split()[1]) / 1024, 1)


def limit_threads(threads: int) -> None:
    """Keep this process on so many cores, whatever its libraries would start."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--limit-s", type=float, default=120)
    parser.add_argument("--memory-limit-gb", type=float, default=12)
    given = parser.parse_args()
    limit_threads(given.threads)
    try:
        engine = ENGINES[given.engine].make(int(given.memory_limit_gb * 2**30))
        measured = measure(engine, Case(given.case), given.folder, given.build, given.limit_s)
    except (Refused, ImportError) as reason:
        print(json.dumps({"skipped": str(reason)}))
        return
    print(json.dumps(asdict(measured)))


if __name__ == "__main__":
    main()
