"""Benchmark of a cluster's cost a query: the executor ``ray`` on this machine beside one engine process, on equal data.

Units are random vectors, in eight segments. Queries of both alternate in one run, after the actors hold the segments;
``added_p50_ms`` is the difference of the medians, and other load changes the least times least. ``batch`` is one query
of 32 vectors, ``clients`` are eight threads that search one after the other. All actors share the processors of this
machine: with more of them it computes no faster, and what is added is Ray's.

    python -m research.benchmarks.ray_cost --units 400000 --actors 1 2 4 8
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from app.cli.console import print_json
from app.main import set_passive_wait_policy
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.types import Generation, Recipe
from models.types import Document, Part, QueryVectors, SpanBounds
from spanseek_ray.executor import RayExecutor
from spanseek_ray.settings import ClusterOptions

_DIM = 384
_OF_DOCUMENT = 100
_SEGMENTS = 8
_BATCH = 32
_CLIENTS = 8
_RECIPE = Recipe("none", "none", _DIM, SpanBounds(1, 20))


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds of queries and of batches, and queries a second of all clients."""

    units: int
    actors: int
    local_p50_ms: float
    ray_p50_ms: float
    added_p50_ms: float
    local_least_ms: float
    ray_least_ms: float
    local_p99_ms: float
    ray_p99_ms: float
    batch_local_ms: float
    batch_ray_ms: float
    clients_local_qps: float
    clients_ray_qps: float


def measure(local: Snapshot, units: int, actors: int, repeats: int) -> tuple[Figures, list[float]]:
    """Search by a cluster of so many actors, and in this process; and the milliseconds of the cluster's searches."""
    executor = RayExecutor(ClusterOptions("local", actors=actors, replicas=1, deadline_s=300.0))
    engines = [local, local.read_by(executor)]
    try:
        warm = [_searched(engine, _queries(1, seed)) for engine in engines for seed in range(5)]
        if warm[4] != warm[9]:
            raise AssertionError("The cluster answers otherwise.")
        singles = _alternating(engines, 1, repeats)
        batches = _alternating(engines, _BATCH, max(3, repeats // 20))
        clients = [_clients(engine, max(2, repeats // 10)) for engine in engines]
    finally:
        executor.close()
    (local_p50, local_p99), (ray_p50, ray_p99) = (np.percentile(times, (50, 99)) for times in singles)
    figures = Figures(
        units=units,
        actors=actors,
        local_p50_ms=round(float(local_p50), 2),
        ray_p50_ms=round(float(ray_p50), 2),
        added_p50_ms=round(float(ray_p50 - local_p50), 2),
        local_least_ms=round(min(singles[0]), 2),
        ray_least_ms=round(min(singles[1]), 2),
        local_p99_ms=round(float(local_p99), 2),
        ray_p99_ms=round(float(ray_p99), 2),
        batch_local_ms=round(float(np.median(batches[0])), 1),
        batch_ray_ms=round(float(np.median(batches[1])), 1),
        clients_local_qps=round(clients[0], 1),
        clients_ray_qps=round(clients[1], 1),
    )
    return figures, singles[1]


def _alternating(engines: list[Snapshot], queries: int, repeats: int) -> list[list[float]]:
    """Milliseconds of each engine, for the same queries in turn."""
    times: list[list[float]] = [[] for _ in engines]
    for seed in range(repeats):
        for engine, of_engine in zip(engines, times, strict=True):
            of_engine.append(1000 * _seconds(partial(_searched, engine, _queries(queries, seed))))
    return times


def _clients(engine: Snapshot, each: int) -> float:
    """Queries a second of threads that search at once."""

    def client(number: int) -> None:
        for seed in range(each):
            _searched(engine, _queries(1, each * number + seed))

    with ThreadPoolExecutor(_CLIENTS) as pool:
        seconds = _seconds(lambda: list(pool.map(client, range(_CLIENTS))))
    return _CLIENTS * each / seconds


def _searched(engine: Snapshot, queries: QueryVectors) -> list[list[tuple[object, ...]]]:
    results = search(engine, SpanScan(queries), Selection(top_k=10), len(queries))
    return [[tuple(row) for row in rows] for rows in results]


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _queries(count: int, seed: int) -> QueryVectors:
    vectors = np.random.default_rng(seed).normal(size=(count, _DIM)).astype(np.float32)
    unit: QueryVectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _written(folder: Path, documents: int, seed: int) -> SegmentView:
    """A segment of documents of a hundred random units."""
    rng = np.random.default_rng(seed)
    spans = np.stack([np.arange(_OF_DOCUMENT) * 2, np.arange(_OF_DOCUMENT) * 2 + 1], axis=1)
    with SegmentWriter(folder, _RECIPE) as writer:
        for number in range(documents):
            document = Document(f"{seed}-{number}", (Part("x " * _OF_DOCUMENT),))
            writer.add_document(document, "", [PartUnits(spans, 0)])
            writer.add_vectors(rng.normal(size=(_OF_DOCUMENT, _DIM)).astype(np.float32))
        return SegmentView(Segment(folder, writer.finish().manifest_sha256), np.zeros(0, np.int64))


def main() -> None:
    """Print the figures for every number of actors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=400_000)
    parser.add_argument("--actors", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--times", type=Path, help="a file for the times of one actor, which tail_latency reads")
    arguments = parser.parse_args()
    set_passive_wait_policy()  # as servers do
    with TemporaryDirectory(prefix="spanseek-") as folder:
        documents = arguments.units // _SEGMENTS // _OF_DOCUMENT
        views = [_written(Path(folder) / f"s{number}", documents, number) for number in range(_SEGMENTS)]
        local = Snapshot(Generation(1, (), _RECIPE), views)
        for actors in arguments.actors:
            figures, times = measure(local, arguments.units, actors, arguments.repeats)
            print_json(asdict(figures))
            if arguments.times and actors == 1:
                arguments.times.write_text("".join(f"{each:.3f}\n" for each in times), "ascii")


if __name__ == "__main__":
    main()
