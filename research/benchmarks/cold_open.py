"""Benchmark of a collection's first search, which waits for its segments: in a folder, and in a bucket.

    python -m research.benchmarks.cold_open [--units 100000] [--dim 384] [--repeats 5] [--url URL] [--json]

One collection of random words, in four segments, is copied to the bucket of a URL, such as s3://BUCKET/PREFIX; by
default that is a folder of this machine, so that what is measured is copying, hashing and locking, and not a network.
Three ways take turns: to open it in a folder that no process has opened, to fetch it into an empty cache, and to open
it from a cache that has it. Median seconds, and the bytes of all segments.
"""

import argparse
import random
import shutil
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from app.cli.console import out, print_json
from indexer.catalog.collections import Catalog
from indexer.catalog.schema import upgrade
from indexer.indexing.pipeline import IndexJob
from indexer.segments.local import LocalSegments
from indexer.segments.storage import Segments
from indexer.store import Store
from indexer.types import Recipe
from models.encoders.hashing import HashingEncoder
from models.types import Document, Part
from spanseek_bucket.objects import Bucket, open_bucket
from spanseek_bucket.segments import BucketSegments
from spanseek_bucket.upload import upload

_COLLECTION, _SEGMENTS, _DOCUMENT_UNITS = "bench", 4, 100
_WORDS = [f"word{number}" for number in range(5_000)]
_CACHE = 2**40


@dataclass(frozen=True, slots=True)
class ColdOpen:
    """Median seconds until a snapshot is open, and what it holds."""

    units: int
    bytes: int
    folder_s: float
    bucket_s: float
    cached_s: float


def measure(folder: Path, catalog: Catalog, bucket: Bucket, repeats: int) -> ColdOpen:
    """Open a collection that lies in ``folder`` again and again."""
    collection = catalog.collection(_COLLECTION)
    for segment in (folder / "collections" / collection.id).glob("*/"):
        upload(bucket, segment, collection.id, segment.name)
    seconds: dict[str, list[float]] = {"folder": [], "bucket": [], "cached": []}
    for repeat in range(repeats):
        copy = folder / f"copy-{repeat}"
        shutil.copytree(folder / "collections", copy / "collections")
        seconds["folder"].append(_opened_s(copy, catalog, LocalSegments(copy / "collections")))
        cold, warm = folder / f"cold-{repeat}", folder / f"warm-{repeat}"
        seconds["bucket"].append(_opened_s(folder, catalog, BucketSegments(bucket, cold, _CACHE)))
        shutil.copytree(cold / "collections", warm / "collections")  # none of these is open
        seconds["cached"].append(_opened_s(folder, catalog, BucketSegments(bucket, warm, _CACHE)))
    medians = {f"{name}_s": round(median(each), 4) for name, each in seconds.items()}
    return ColdOpen(collection.units, collection.bytes, **medians)


def _opened_s(folder: Path, catalog: Catalog, segments: Segments) -> float:
    store = Store(folder, catalog, segments=segments)
    started = time.perf_counter()
    store.snapshot(_COLLECTION).require_complete()
    return time.perf_counter() - started


def _index(store: Store, encoder: HashingEncoder, units: int) -> None:
    words = random.Random(1)
    collection = store.catalog.create_collection(_COLLECTION, Recipe("hashing", encoder.fingerprint, encoder.dim))
    for segment in range(_SEGMENTS):
        documents = [
            Document(f"{segment}-{number}", (Part(" ".join(words.choices(_WORDS, k=_DOCUMENT_UNITS))),))
            for number in range(units // _SEGMENTS // _DOCUMENT_UNITS)
        ]
        IndexJob(store, encoder, collection, merge=False, publish_s=1e9).run(documents)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--url", default="")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        upgrade(url := f"sqlite:///{folder}/catalog.sqlite3")
        with closing(Catalog(url)) as catalog:
            _index(Store(folder, catalog), HashingEncoder(dim=arguments.dim), arguments.units)
            bucket = open_bucket(arguments.url or f"file://{folder}/bucket")
            result = measure(folder, catalog, bucket, arguments.repeats)
    if arguments.json:
        print_json(asdict(result))
    else:
        out.print(
            f"{result.units:,} units, {result.bytes / 2**20:.0f} MiB: {result.folder_s * 1000:.0f} ms in a folder, "
            f"{result.bucket_s * 1000:.0f} ms from the bucket, {result.cached_s * 1000:.0f} ms from the cache"
        )


if __name__ == "__main__":
    main()
