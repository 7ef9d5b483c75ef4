"""Bulk jobs: the work that a kill loses, and how true the time left is.

    python -m research.benchmarks.bulk_jobs [--runs 20] [--documents 1500] [--encoder NAME] [--seed 0] [--json]

Documents of one to some hundred sentences are drawn from the samples, anew for every run. **Kills**: ``spanseek index``
is killed with SIGKILL at a random moment after it first published; lost is the time since it last did, by the clock and
of the processor. **Time left**: a job runs to its end; whenever it says the time left, from a tenth of the job
on, that is compared with the time that it then took, both in seconds of the processor, so that other work on the
machine does not count. Deviations are shares of the time left, up to nine tenths of the job, and of the whole time.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from app.cli.console import out, print_json
from app.cli.progress import IndexingProgress
from indexer.catalog.collections import Catalog
from indexer.indexing.pipeline import IndexJob, IndexReport, JobHooks
from indexer.sources import Source
from indexer.types import Recipe
from models.encoders.base import Encoder
from models.encoders.registry import EncoderOptions, load_encoder
from models.text.borders import sentence_spans
from models.types import Document
from research.evaluation.searching import scratch_store

SAMPLES: Final = Path(__file__).parents[2] / "samples" / "documents"
_COLLECTION: Final = "bench"
# A job is killed so long after it first published, in seconds; and how often the catalog is looked at.
_KILLED_AFTER: Final = (1.0, 30.0)
_LOOK_S: Final = 0.05


def write_source(path: Path, documents: int, seed: int) -> None:
    """Documents whose numbers of sentences are distributed log-normally, as those of real collections are."""
    drawn = random.Random(seed)
    sentences = [
        span.of(record.text)
        for record in Source(SAMPLES)
        if isinstance(record, Document)
        for span in sentence_spans(record.text)
    ]
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            count = min(400, 1 + int(drawn.lognormvariate(2.0, 1.2)))
            text = " ".join(drawn.choices(sentences, k=count))
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")


def killed_run(folder: Path, source: Path, encoder: str, after: float) -> dict[str, float]:
    """Kill a job some seconds after it first published: the time since it last did, and the documents seen and kept."""
    environment = os.environ | {"SPANSEEK_DATA_DIR": str(folder), "SPANSEEK_ENCODER": encoder}
    command = [sys.executable, "-m", "app"]
    subprocess.run([*command, "init-db"], env=environment, check=True, capture_output=True)
    job = [*command, "index", "-c", _COLLECTION, "--source", str(source)]
    with closing(Catalog(f"sqlite:///{folder / 'catalog.sqlite3'}")) as catalog:
        process = subprocess.Popen(job, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen, first, published, worked = 0, inf, 0.0, 0.0
        while process.poll() is None and time.monotonic() < first + after:
            time.sleep(_LOOK_S)
            if (live := _documents(catalog)) != seen:
                seen, published, worked = live, time.monotonic(), _processor_s(process.pid)
                first = min(first, published)
        is_over = process.poll() is not None
        lost, lost_work = (0.0, 0.0) if is_over else (time.monotonic() - published, _processor_s(process.pid) - worked)
        process.send_signal(signal.SIGKILL)
        process.wait()
        figures = {"killed_after_s": after, "lost_s": lost, "lost_processor_s": lost_work}
        return figures | {"seen": seen, "kept": _documents(catalog)}


def _processor_s(process: int) -> float:
    """The processor seconds of a process so far; none of one that is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _documents(catalog: Catalog) -> int:
    return sum(collection.documents for collection in catalog.collections())


def timed_run(source: Path, name: str, encoder: Encoder) -> dict[str, float]:
    """Run a job to its end, and return the greatest deviations of the time left that it says."""
    said: list[tuple[float, float]] = []
    records = Source(source)
    progress = IndexingProgress(records, lambda *_: None, time.process_time)
    started = time.process_time()

    def listen(report: IndexReport) -> None:
        left = progress.seconds_left(report)
        if left is not None:
            said.append((time.process_time() - started, left))

    with scratch_store() as store:
        collection = store.catalog.create_collection(_COLLECTION, Recipe(name, encoder.fingerprint, encoder.dim))
        IndexJob(store, encoder, collection, JobHooks(progress=listen)).run(records)
    total = time.process_time() - started
    return {"seconds": total, **deviations(said, total)}


def deviations(said: Sequence[tuple[float, float]], total: float) -> dict[str, float]:
    """Greatest relative errors of the times left that a job of ``total`` seconds says, as pairs of elapsed and left.

    >>> deviations([(1.0, 20.0), (20.0, 90.0), (50.0, 55.0), (99.0, 3.0)], 100.0)
    {'said': 3, 'off_left': 0.125, 'off_total': 0.1}
    """
    late = [(elapsed, left, total - elapsed) for elapsed, left in said if elapsed >= total / 10]
    of_left = [abs(left - true) / true for elapsed, left, true in late if elapsed <= 0.9 * total]
    of_total = [abs(left - true) / total for _, left, true in late]
    return {"said": len(late), "off_left": max(of_left, default=1.0), "off_total": max(of_total, default=1.0)}


def summary(kills: Sequence[dict[str, float]], jobs: Sequence[dict[str, float]], wanted: float) -> dict[str, float]:
    """The worst and the median of all runs."""
    lost = [run["lost_s"] for run in kills]
    return {
        "kills": len(kills),
        "lost_s_median": median(lost),
        "lost_s_worst": max(lost),
        "lost_processor_s_worst": max(run["lost_processor_s"] for run in kills),
        "kept_fewer": sum(run["kept"] < run["seen"] for run in kills),
        "jobs": len(jobs),
        "off_left_median": median(run["off_left"] for run in jobs),
        "off_left_worst": max(run["off_left"] for run in jobs),
        "off_total_worst": max(run["off_total"] for run in jobs),
        "jobs_within": sum(run["off_left"] <= wanted for run in jobs),
    }


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--encoder", default="slice")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    encoder = load_encoder(options.encoder, EncoderOptions())
    drawn, kills, jobs = random.Random(options.seed), [], []
    for number in range(options.runs):
        with TemporaryDirectory(prefix="bulk-") as folder:
            source = Path(folder) / "source.ndjson"
            write_source(source, options.documents, options.seed + number)
            jobs.append(timed_run(source, options.encoder, encoder))
            write_source(source, 20 * options.documents, options.seed + number)
            kills.append(killed_run(Path(folder) / "data", source, options.encoder, drawn.uniform(*_KILLED_AFTER)))
        if not options.json:
            out.print(json.dumps(jobs[-1] | kills[-1]), soft_wrap=True)
    (print_json if options.json else out.print)(summary(kills, jobs, 0.2) | {"runs": [jobs, kills]})


if __name__ == "__main__":
    main()
