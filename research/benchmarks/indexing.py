"""Indexing throughput against the bare forward pass of the same batches.

    python -m research.benchmarks.indexing --source FILE [--encoder untrained] [--runs 3] [--limit DOCUMENTS] [--json]

Each run indexes the source into a temporary store, then feeds the very batches it made to the encoder again, with
nothing else to do. The ratio of the two times is what the pipeline leaves of the encoder's speed.
"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np

from indexer.indexing.pipeline import IndexJob, IndexReport
from indexer.sources import Source
from indexer.types import Recipe
from models.encoders.base import Encoder
from models.encoders.registry import EncoderOptions, load_encoder
from models.text.tokens import Tokens
from research.evaluation.searching import scratch_store

Batch = Sequence[np.ndarray]


class RecordingEncoder:
    """An encoder that remembers the batches it was given."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.dim = encoder.dim
        self.window = encoder.window
        self.fingerprint = encoder.fingerprint
        self.batch_tokens = encoder.batch_tokens
        self.batches: list[Batch] = []

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        return self._encoder.tokenize(texts)

    def forward(self, batches: Iterable[Batch]) -> Iterator[list[np.ndarray]]:
        return self._encoder.forward(map(self._remember, batches))

    def forward_query(self, batch: Batch) -> list[np.ndarray]:
        return self._encoder.forward_query(batch)

    def _remember(self, batch: Batch) -> Batch:
        self.batches.append(batch)
        return batch


def index_once(encoder: RecordingEncoder, name: str, source: Path, limit: int | None) -> IndexReport:
    """Index a source into a store that is thrown away."""
    with scratch_store() as store:
        collection = store.catalog.create_collection("bench", Recipe(name, encoder.fingerprint, encoder.dim))
        return IndexJob(store, encoder, collection).run(islice(Source(source), limit))


def bare_forward_s(encoder: Encoder, batches: Sequence[Batch]) -> float:
    """Seconds for the forward passes alone."""
    started = time.perf_counter()
    for _ in encoder.forward(batches):
        pass
    return time.perf_counter() - started


def measure(encoder: Encoder, name: str, source: Path, limit: int | None, runs: int) -> dict[str, float]:
    """Medians over runs that alternate between the job and the bare forward pass."""
    jobs, bare, ratios = [], [], []
    for _ in range(runs):
        recording = RecordingEncoder(encoder)
        report = index_once(recording, name, source, limit)
        seconds = bare_forward_s(encoder, recording.batches)
        jobs.append(report.seconds)
        bare.append(seconds)
        ratios.append(seconds / report.seconds)
    tokens = sum(len(ids) for batch in recording.batches for ids in batch)
    return {
        "documents": report.documents,
        "units": report.units,
        "bytes_per_unit": round(report.bytes_on_disk / max(report.units, 1), 1),
        "job_s": round(median(jobs), 2),
        "bare_forward_s": round(median(bare), 2),
        "units_per_second": round(report.units / median(jobs), 1),
        "tokens_per_second_bare": round(tokens / median(bare), 1),
        "throughput_ratio": round(median(ratios), 3),
        "peak_rss_mb": report.peak_rss_mb,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--encoder", default="slice")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=None, help="documents to read")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    encoder = load_encoder(given.encoder, EncoderOptions(device=given.device))
    figures = measure(encoder, given.encoder, given.source, given.limit, given.runs)
    if given.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:24s} {value:,}")


if __name__ == "__main__":
    main()
