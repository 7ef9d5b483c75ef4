"""Benchmark of scans by span score: terms of length and borders against the literal cosine, and an older checkout.

    SPANSEEK_DATA_DIR=DATA python -m research.benchmarks.span_scores --collection NAME [--old FOLDER --old-data DATA]

Queries take turns within one process, and processes of both checkouts take turns, so that all meet the same machine.
``--old`` is a checkout from before the span score. It reads a data directory that it has written itself: a collection
of the same name and documents.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np
from jaxtyping import Float32

from app.cli.console import print_json
from app.services import open_store
from app.settings import Settings
from indexer.arrays import SpanTerms
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from models.encoders.registry import load_span_score
from models.ops.similarity import normalize

TOP_K = 10
BATCH = 32
# Units of the queries: most phrases have as many.
QUERY_UNITS = 5
# What both checkouts can run: the literal cosine.
_OLD = """
import json, sys, time
import numpy as np
from app.services import open_store
from app.settings import Settings
from indexer.engine.query import Selection
from indexer.engine.scan import ScanEngine
snapshot, engine = open_store(Settings()).snapshot(sys.argv[1]), ScanEngine()
times = {1: [], 32: []}
for batch in np.load(sys.argv[2]):
    for size in times:
        started = time.perf_counter()
        engine.search(snapshot, batch[:size], Selection(10))
        times[size].append(time.perf_counter() - started)
print(json.dumps({size: values[1:] for size, values in times.items()}))
"""


def queries_of(snapshot: Snapshot, rounds: int) -> Float32[np.ndarray, "rounds {BATCH} dim"]:
    """Vectors of random spans of the collection, with as much noise: as far from the best span as paraphrases are."""
    rng = np.random.default_rng(1)
    units = max((view.segment for view in snapshot.views), key=lambda segment: len(segment.scales))
    starts = rng.integers(0, len(units.scales) - QUERY_UNITS, (rounds, BATCH))
    spans = starts[..., None] + np.arange(QUERY_UNITS)
    vectors = normalize((units.vectors[spans] * units.scales[spans][..., None].astype(np.float64)).sum(axis=-2))
    noise = normalize(rng.normal(size=vectors.shape))
    return normalize(vectors + noise).astype(np.float32)


def timed(
    snapshot: Snapshot, terms: Mapping[str, SpanTerms], queries: Float32[np.ndarray, "rounds {BATCH} dim"]
) -> dict[str, list[float]]:
    """Seconds of every search, one query and a batch, with each of the terms in turn; the first round is not kept."""
    times = {f"{name} {size}": list[float]() for name in terms for size in (1, BATCH)}
    for batch in queries:
        for name, of_name in terms.items():
            for size in (1, BATCH):
                started = time.perf_counter()
                search(snapshot, SpanScan(batch[:size], of_name.take(slice(0, size))), Selection(TOP_K), size)
                times[f"{name} {size}"].append(time.perf_counter() - started)
    return {name: values[1:] for name, values in times.items()}


def old_times(checkout: Path, data: Path, collection: str, queries: Path) -> dict[str, list[float]]:
    """The same of an older checkout, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "SPANSEEK_DATA_DIR": str(data)}
    command = [sys.executable, "-c", _OLD, collection, str(queries)]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
    return {f"old {size}": values for size, values in json.loads(done.stdout.splitlines()[-1]).items()}


def ratios(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Medians in milliseconds, and those with the span score by those of the cosine and of the older checkout.

    >>> ratios({"score 1": [0.003, 0.003], "cosine 1": [0.002, 0.002]})
    {'score 1 ms': 3.0, 'cosine 1 ms': 2.0, 'score 1 / cosine 1': 1.5}
    """
    medians = {name: median(values) for name, values in times.items()}
    pairs = [(f"score {size}", f"{name} {size}") for size in (1, BATCH) for name in ("cosine", "old")]
    return {f"{name} ms": round(value * 1000, 3) for name, value in medians.items()} | {
        f"{one} / {other}": round(medians[one] / medians[other], 3) for one, other in pairs if other in medians
    }


def main() -> None:
    """Print the medians and their ratios as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", required=True)
    parser.add_argument("--old", type=Path)
    parser.add_argument("--old-data", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    settings = Settings()
    store = open_store(settings)
    snapshot = store.snapshot(options.collection)
    recipe = snapshot.recipe
    score = load_span_score(settings.encoder_options, recipe.encoder, recipe.fingerprint)
    units = np.full(BATCH, QUERY_UNITS)
    terms = {"score": SpanTerms.of(score, units), "cosine": SpanTerms.none(BATCH)}
    queries = queries_of(snapshot, options.rounds + 1)
    measure: list[Callable[[], dict[str, list[float]]]] = [lambda: timed(snapshot, terms, queries)]
    file = Path(tempfile.mkdtemp()) / "queries.npy"
    np.save(file, queries)
    if options.old:
        measure.append(lambda: old_times(options.old, options.old_data, options.collection, file))
    times: dict[str, list[float]] = {}
    for _ in range(options.turns):
        for work in measure:
            for name, values in work().items():
                times.setdefault(name, []).extend(values)
    print_json({"units": snapshot.units, "score": score.fingerprint} | ratios(times))
    store.catalog.close()


if __name__ == "__main__":
    main()
