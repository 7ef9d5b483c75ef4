"""Figures of a GPU: encoding, search and training, each within a number of seconds.

    python -m research.benchmarks.gpu encoding [--gigabytes 1] [--device cuda] [--seconds 60]
    python -m research.benchmarks.gpu search [--units 1e6] [--dim 384] [--device cuda] [--seconds 60]
    python -m research.benchmarks.gpu training [--device cuda] [--seconds 20]

``research/benchmarks/gpu.sh`` runs all of them. Each prints one line of JSON. ``encoding`` indexes made-up texts until
the seconds are over, and then gives the very batches to the network alone: the ratio is what indexing leaves of the
network's speed. ``search`` compares the engines on random vectors. ``training`` makes steps of an optimizer on batches
of sentences. With ``--device cpu`` all of it runs without a GPU, which shows that the script works, and no more.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch

from indexer.ann.candidates import CandidateExecutor
from indexer.ann.windows import write_windows
from indexer.engine.device import DeviceExecutor
from indexer.engine.executor import Executor
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.engine.views import SegmentView
from indexer.indexing.pipeline import IndexJob, JobHooks
from indexer.segments.merge import Source, merge
from indexer.segments.reader import Segment
from indexer.segments.writer import PartUnits, SegmentWriter
from indexer.sources import Record
from indexer.types import Generation, Recipe
from models.backbones.devices import resolve_device
from models.backbones.torch_network import load_backbone
from models.encoders.registry import EncoderOptions, load_encoder
from models.types import Document, Part
from research.benchmarks.indexing import RecordingEncoder, bare_forward_s
from research.evaluation.searching import scratch_store

_WORDS = ("the", "of", "a", "case", "was", "in", "court", "to", "and", "by", "for", "that", "with", "on", "not", "from")
_DOCUMENT_WORDS, _DOCUMENT_UNITS = 300, 300
_QUERIES, _REPEATS = 32, 10
# Windows take long to make: larger corpora are scanned alone.
_MOST_WITH_WINDOWS = 2_000_000

Figures = dict[str, float | str | None]


def records(gigabytes: float, seed: int = 13) -> Iterator[Record]:
    """Made-up documents, until they have so many gigabytes."""
    rng, left, number = np.random.default_rng(seed), gigabytes * 1e9, 0
    while left > 0:
        text = " ".join(_WORDS[word] for word in rng.integers(0, len(_WORDS), _DOCUMENT_WORDS))
        yield Document(f"{number:09d}", (Part(text),))
        left, number = left - len(text), number + 1


def encoding(device: str, gigabytes: float, seconds: float) -> Figures:
    """The tokens a second of a job, and of the network alone."""
    encoder = load_encoder("slice", EncoderOptions(device=device))
    recording, end = RecordingEncoder(encoder), time.perf_counter() + seconds
    _reset_peak()
    with scratch_store() as store:
        collection = store.catalog.create_collection("bench", Recipe("slice", encoder.fingerprint, encoder.dim))
        job = IndexJob(store, recording, collection, JobHooks(stop=lambda: time.perf_counter() > end))
        report = job.run(records(gigabytes))
    tokens = sum(len(ids) for batch in recording.batches for ids in batch)
    some = recording.batches[: max(1, len(recording.batches) // 4)]
    alone = sum(len(ids) for batch in some for ids in batch) / bare_forward_s(encoder, some)
    return {
        "gigabytes": gigabytes,
        "read_gigabytes": round(report.read / 1e9, 4),
        "tokens_per_second": round(tokens / report.seconds),
        "tokens_per_second_of_the_network": round(alone),
        "ratio": round(tokens / report.seconds / alone, 3),
        "batch_tokens": encoder.batch_tokens,
        "peak_rss_mb": report.peak_rss_mb,
        "peak_device_mb": _peak_mb(),
    }


def corpus(folder: Path, units: int, dim: int) -> Snapshot:
    """Random vectors in documents of 300 units; with windows if there are few enough."""
    recipe, rng = Recipe("none", "none", dim), np.random.default_rng(13)
    spans = np.stack([np.arange(_DOCUMENT_UNITS) * 2, np.arange(_DOCUMENT_UNITS) * 2 + 1], axis=1)
    part = Part(" ".join("x" * _DOCUMENT_UNITS))
    with SegmentWriter(folder / "plain", recipe) as writer:
        for number in range(units // _DOCUMENT_UNITS):
            writer.add_document(Document(f"{number:09d}", (part,)), "", [PartUnits(spans, 0)])
            writer.add_vectors(rng.standard_normal((_DOCUMENT_UNITS, dim), np.float32))
        segment = Segment(folder / "plain", writer.finish().manifest_sha256)
    if units <= _MOST_WITH_WINDOWS:
        source = Source(segment, np.ones(segment.manifest.documents, bool))
        info, _ = merge(folder / "windows", recipe, [source], [write_windows])
        segment = Segment(folder / "windows", info.manifest_sha256)
    return Snapshot(Generation(1, (), recipe), [SegmentView(segment, np.zeros(0, np.int64))])


def executors(device: torch.device, *, windows: bool) -> dict[str, Callable[[], Executor]]:
    """The engines to compare, by name."""
    made: dict[str, Callable[[], Executor]] = {"scan": Executor, "device": lambda: DeviceExecutor(device)}
    if windows:
        made["candidates"] = CandidateExecutor
    if device.type == "cuda":
        from indexer.ann.faiss_gpu import FaissGpuExecutor  # builds of FAISS without GPUs lack what it needs

        made["faiss_gpu"] = lambda: FaissGpuExecutor(device)
    return made


def searching(device: str, units: int, dim: int, seconds: float) -> Figures:
    """Milliseconds of a query alone and in a batch, for every engine."""
    figures: Figures = {"units": units, "dim": dim}
    rng = np.random.default_rng(7)
    queries = rng.standard_normal((_QUERIES, dim), np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    with TemporaryDirectory() as folder:
        snapshot = corpus(Path(folder), units, dim)
        chosen = executors(resolve_device(device), windows=snapshot.has_windows)
        expected = _best(Executor(), snapshot, queries)
        for name, make in chosen.items():
            _reset_peak()
            executor, begun = make(), time.perf_counter()
            found = _best(executor, snapshot, queries)  # copies the segments
            figures[f"{name}_first_s"] = round(time.perf_counter() - begun, 3)
            figures[f"{name}_same"] = round(float(np.mean(np.abs(found - expected) < 1e-6)), 3)
            for what, some in (("one", queries[:1]), ("batch", queries)):
                figures[f"{name}_{what}_ms"] = _milliseconds(executor, snapshot, some, seconds / len(chosen) / 2)
            figures[f"{name}_peak_device_mb"] = _peak_mb()
            executor.close()
    return figures


def training(device: str, seconds: float) -> Figures:
    """Steps a second of an optimizer on batches of 64 windows of 64 tokens."""
    backbone = load_backbone(device=device)
    rng = np.random.default_rng(5)
    windows = [rng.integers(1_000, 20_000, 64).astype(np.int32) for _ in range(64)]
    ids, mask = backbone.pad(windows)
    parameters = [parameter.requires_grad_(True) for parameter in backbone.model.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-5)
    steps, end = 0, time.perf_counter() + seconds
    _reset_peak()
    begun = time.perf_counter()
    while not steps or time.perf_counter() < end:
        loss = backbone.hidden(ids, mask).float().square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        if backbone.device.type == "cuda":
            torch.cuda.synchronize(backbone.device)
        steps += 1
    taken = time.perf_counter() - begun
    return {
        "steps_per_second": round(steps / taken, 3),
        "tokens_per_step": int(mask.sum()),
        "peak_device_mb": _peak_mb(),
    }


def _best(executor: Executor, snapshot: Snapshot, queries: np.ndarray) -> np.ndarray:
    """The score of the best span of every query."""
    hits = search(snapshot.read_by(executor), SpanScan(queries), Selection(top_k=10), len(queries))
    return np.array([of_query[0].cosine if of_query else -np.inf for of_query in hits])


def _milliseconds(executor: Executor, snapshot: Snapshot, queries: np.ndarray, seconds: float) -> float:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or (len(times) < _REPEATS and time.perf_counter() < end):
        begun = time.perf_counter()
        _best(executor, snapshot, queries)
        times.append(1000 * (time.perf_counter() - begun) / len(queries))
    return round(median(times), 3)


def _reset_peak() -> None:
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def _peak_mb() -> float | None:
    """Megabytes that torch's tensors took on the GPU at most; FAISS's are not among them."""
    return round(torch.cuda.max_memory_allocated() / 2**20, 1) if torch.cuda.is_available() else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["encoding", "search", "training"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--units", type=float, default=1e6)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    if given.what == "encoding":
        figures = encoding(given.device, given.gigabytes, given.seconds)
    elif given.what == "search":
        figures = searching(given.device, int(given.units), given.dim, given.seconds)
    else:
        figures = training(given.device, given.seconds)
    print(json.dumps({"what": given.what, "device": given.device, **figures}))


if __name__ == "__main__":
    main()
