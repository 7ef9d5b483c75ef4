"""Indexing by encoder actors of a Ray cluster on this machine, beside the job in one process, on equal documents.

    python -m research.benchmarks.ray_indexing --source FILE [--limit 2000] [--actors 1 2] [--runs 3]
    python -m research.benchmarks.ray_indexing --sleeping 1 2 4 8 16 32 64 [--rate 1450] [--slower 1]

The first alternates plain jobs, of as many threads as there are processors, with jobs of so many actors of one thread.
Rates count from the first report of a job to its end, so that they leave out the start of actors and models;
``start_s`` is what comes before. The second has actors whose encoder sleeps as long as a forward pass takes that
encodes ``rate`` units a second, or ``slower`` times as long, and then gives vectors of a table: all else is done, by
the processors of this machine. ``efficiency`` is the rate as a share of what so many sleeping encoders could do at
most, and ``job_us`` are the microseconds of the processor that the job itself takes for a unit, which is what one
process can read, publish and merge.
"""

import argparse
import random
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Int32

from app.cli.console import print_json
from indexer.indexing.pipeline import IndexJob, IndexReport, JobHooks
from indexer.indexing.segment_maker import LocalMaker
from indexer.segments.options import SegmentsOptions, make_segments
from indexer.sources import Source
from indexer.store import Store
from indexer.types import Collection, Recipe
from models.encoders.base import Encoder
from models.encoders.hashing import HashingEncoder
from models.encoders.passes import UnitPass
from models.encoders.registry import EncoderOptions, load_encoder
from models.types import Document, Part
from research.evaluation.searching import scratch_store
from spanseek_ray.indexing import Making
from spanseek_ray.segment_maker import ClusterMaker
from spanseek_ray.settings import ClusterOptions

_DIM, _TABLE = 384, 4_096
_OF_DOCUMENT = 100
_SECONDS_AN_ACTOR = 90
_OBJECT_STORE = 2**28

# What actors are sent to make the segments of a collection.
MakesMaking: TypeAlias = Callable[[Store, Collection], Callable[[], LocalMaker]]


class SleepingEncoder(HashingEncoder):
    """Sleeps as long as a network computes, and gives vectors of a table."""

    def __init__(self, rate: float) -> None:
        super().__init__(_DIM, window=254)
        self._rate = rate
        self._table = np.random.default_rng(0).normal(size=(_TABLE, _DIM)).astype(np.float32)

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
    ) -> Iterator[list[Float32[np.ndarray, "_tokens dim"]]]:
        """The vectors, after as long as they would take."""
        for batch in batches:
            time.sleep(sum(map(len, batch)) / self._rate)
            yield [self._table[ids % _TABLE] for ids in batch]


@dataclass(frozen=True, slots=True)
class Sleeping:
    """Factory that an actor is sent: its maker of segments sleeps instead of encoding."""

    segments: SegmentsOptions
    collection_id: str
    recipe: Recipe
    rate: float

    def __call__(self) -> LocalMaker:
        """Return the maker of segments, in the actor."""
        encoder = SleepingEncoder(self.rate)
        segments = make_segments(self.segments)
        return LocalMaker(segments, self.collection_id, self.recipe, encoder, UnitPass(encoder))


@dataclass(frozen=True, slots=True)
class Figures:
    """One job: ``actors`` is 0 for the job in one process."""

    actors: int
    units: int
    segments: int
    start_s: float
    seconds: float
    units_per_second: float
    job_us: float


def measured(
    encoder: Encoder,
    name: str,
    documents: Iterable[Document],
    actors: int,
    making: MakesMaking,
) -> Figures:
    """Index documents into a store that is thrown away."""
    told: list[tuple[float, int]] = []

    def tell(report: IndexReport) -> None:
        told.append((time.perf_counter(), report.units))

    with scratch_store() as store:
        collection = store.catalog.create_collection("bench", Recipe(name, encoder.fingerprint, encoder.dim))
        options = ClusterOptions("local", encoders=actors)
        maker = None
        if actors:
            make = making(store, collection)
            maker = ClusterMaker(store.segments, collection.id, make, options, by_gpu=False)
        begun, worked = time.perf_counter(), _processor_s()
        report = IndexJob(store, encoder, collection, JobHooks(progress=tell), maker=maker).run(documents)
        ended, job_s = time.perf_counter(), _processor_s() - worked
        segments = len(store.catalog.live_generation("bench").segments)
    (first, done), seconds = told[0], ended - told[0][0]
    return Figures(
        actors,
        report.units,
        segments,
        round(first - begun, 2),
        round(seconds, 2),
        round((report.units - done) / seconds, 1),
        round(1e6 * job_s / report.units, 2),
    )


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def compare(name: str, source: Path, limit: int, counts: Sequence[int], runs: int) -> None:
    """Print the jobs of every run, and the ratios of their rates to the plain job's of the same run."""
    encoder = load_encoder(name)
    documents = [record for record in islice(Source(source), limit) if isinstance(record, Document)]

    def making(store: Store, collection: Collection) -> Making:
        where = SegmentsOptions(store.segments.root.absolute())
        options = replace(EncoderOptions(), whitenings=Path("whitenings").absolute())
        return Making(options, where, collection.id, collection.recipe)

    ratios: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(runs):
        plain = measured(encoder, name, documents, 0, making)
        print_json(asdict(plain))
        for count in counts:
            figures = measured(encoder, name, documents, count, making)
            print_json(asdict(figures))
            ratios[count].append(figures.units_per_second / plain.units_per_second)
    print_json({f"ratio_of_{count}": round(median(ratios[count]), 3) for count in counts})


def curve(counts: Sequence[int], rate: float, slower: float) -> None:
    """Print a job of every number of sleeping actors."""
    encoder = SleepingEncoder(rate / slower)

    def making(store: Store, collection: Collection) -> Sleeping:
        where = SegmentsOptions(store.segments.root.absolute())
        return Sleeping(where, collection.id, collection.recipe, rate / slower)

    for count in counts:
        units = round(count * _SECONDS_AN_ACTOR * rate / slower)
        figures = measured(encoder, "hashing", _invented(units // _OF_DOCUMENT), count, making)
        most = count * rate / slower
        print_json(asdict(figures) | {"efficiency": round(figures.units_per_second / most, 3)})


def _invented(count: int) -> Iterator[Document]:
    drawn = random.Random(0)
    words = [f"w{number}" for number in range(_TABLE)]
    for number in range(count):
        yield Document(str(number), (Part(" ".join(drawn.choices(words, k=_OF_DOCUMENT))),))


def main() -> None:
    """Print one line of JSON for every job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[2] / "samples" / "documents")
    parser.add_argument("--encoder", default="slice")
    parser.add_argument("--limit", type=int, default=2_000)
    parser.add_argument("--actors", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sleeping", type=int, nargs="+", help="numbers of actors that sleep instead of encoding")
    parser.add_argument("--rate", type=float, default=1_450.0, help="units a second of one thread")
    parser.add_argument("--slower", type=float, default=1.0, help="how much longer they sleep")
    given = parser.parse_args()
    import ray

    most = max(given.sleeping or given.actors)
    ray.init(num_cpus=most, object_store_memory=_OBJECT_STORE, include_dashboard=False, log_to_driver=False)
    if given.sleeping:
        curve(given.sleeping, given.rate, given.slower)
    else:
        compare(given.encoder, given.source, given.limit, given.actors, given.runs)


if __name__ == "__main__":
    main()
