"""Requests a second, and latencies, of ``POST /search`` with few and many clients, of two checkouts in one run.

    python -m research.benchmarks.http_clients --source COLLECTION --units 100000 --clients 1 --clients 8 --clients 32
        [--before ../spanseek-before] [--options '{"threshold": 0.8, "counts": ["kind"]}']

The first whole documents of the source, up to so many units, are copied into a data folder and served. Each round
starts a server of every checkout in turn; one whose catalog has an earlier version gets a copy with such a catalog.
Figures are medians of rounds, and so are the ratios to the first checkout, each of one round. ``--options`` are further
fields of all requests.
"""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from app.cli.console import out, print_json
from app.encoders.encoders import Encoders
from app.settings import CATALOG_FILE, Settings
from indexer.catalog.schema import VERSION, downgrade
from research.benchmarks.corpus import first_documents
from research.benchmarks.http_latency import Answered, ask_all, ask_together, publish_documents, serving
from research.benchmarks.phrases import sample_phrases
from research.benchmarks.prepare import opened
from research.benchmarks.rows import percentile
from research.evaluation.searching import scratch_store

_QUERIES = 500
_WARM = 20


@dataclass(frozen=True, slots=True)
class Throughput:
    """So many clients of one checkout, which share the requests. Latencies are milliseconds that a client waits.

    ``ratio`` is that of the requests a second to those of the first checkout.
    """

    checkout: str
    clients: int
    requests_per_s: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    errors: int
    ratio: float = 1.0


def throughput(checkout: str, clients: int, answered: Sequence[Answered], seconds: float) -> Throughput:
    """The figures of one round.

    >>> throughput("present", 2, [Answered(10.0, 8.0, ok=True), Answered(30.0, 8.0, ok=False)], 0.5).requests_per_s
    4.0
    """
    waited = [answer.wall_ms for answer in answered]
    p50, p95, p99 = (percentile(waited, share) for share in (50, 95, 99))
    errors = sum(not answer.ok for answer in answered)
    return Throughput(checkout, clients, round(len(answered) / seconds, 1), p50, p95, p99, errors)


def of_rounds(rounds: Sequence[Throughput]) -> Throughput:
    """The medians of rounds of one checkout and one number of clients; errors are added up."""
    first = rounds[0]
    names = ("requests_per_s", "p50_ms", "p95_ms", "p99_ms", "ratio")
    medians = {name: round(median(getattr(each, name) for each in rounds), 3) for name in names}
    return Throughput(first.checkout, first.clients, errors=sum(each.errors for each in rounds), **medians)


def measure(
    source: str,
    units: int,
    clients: Sequence[int],
    checkouts: Mapping[str, Path | None],
    *,
    requests: int = 2000,
    rounds: int = 3,
    options: Mapping[str, Any] | None = None,
    seed: int = 1,
) -> list[Throughput]:
    """Serve so many units of a source by every checkout in turn, and measure."""
    settings = Settings()
    found: dict[tuple[str, int], list[Throughput]] = {}
    with scratch_store() as store:
        with opened(source, settings, Encoders(settings.encoder_options)) as snapshot:
            split = first_documents(snapshot, units)
            phrases = sample_phrases(split.rest, split.indexed, _QUERIES, seed)
            publish_documents(store, split, snapshot.recipe)
        folders = {name: data_of(checkout, store.data_dir) for name, checkout in checkouts.items()}
        for _ in range(rounds):
            for name, checkout in checkouts.items():
                with serving(folders[name], checkout=checkout) as url:
                    ask_all(url, phrases[:_WARM], options)
                    for count in clients:
                        answered, seconds = ask_together(url, phrases, requests, count, options)
                        found.setdefault((name, count), []).append(throughput(name, count, answered, seconds))
    firsts = {count: found[next(iter(checkouts)), count] for count in clients}
    return [of_rounds([*map(_compared, each, firsts[count])]) for (_, count), each in found.items()]


def data_of(checkout: Path | None, data_dir: Path) -> Path:
    """The data folder that a checkout can serve: this one, or a copy in it with a catalog of the checkout's version."""
    version = VERSION if checkout is None else catalog_version(checkout)
    if version == VERSION:
        return data_dir
    copy = data_dir / f"catalog-{version}"
    shutil.copytree(data_dir, copy, ignore=shutil.ignore_patterns("catalog-*"))
    downgrade(f"sqlite:///{copy / CATALOG_FILE}", version)
    return copy


def catalog_version(checkout: Path) -> str:
    """The version of the catalog that the code of a checkout reads."""
    (version,) = re.findall(r'^VERSION = "(\d+)"$', (checkout / "indexer/catalog/schema.py").read_text("utf-8"), re.M)
    return str(version)


def _compared(row: Throughput, first: Throughput) -> Throughput:
    return replace(row, ratio=row.requests_per_s / first.requests_per_s)


def main(
    source: Annotated[str, typer.Option(help="An indexed collection, or a file or folder to index first.")],
    units: Annotated[int, typer.Option(help="Units that are served.")] = 100_000,
    clients: Annotated[list[int] | None, typer.Option(help="Clients; repeat for several. 1, 8 and 32.")] = None,
    before: Annotated[Path | None, typer.Option(help="A checkout to compare with.")] = None,
    requests: Annotated[int, typer.Option(help="Requests that the clients share, in each round.")] = 2000,
    rounds: Annotated[int, typer.Option(help="Rounds, of which medians are taken.")] = 3,
    options: Annotated[str, typer.Option(help="Further fields of the requests, as a JSON object.")] = "{}",
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Measure requests a second, and p50, p95 and p99."""
    checkouts: dict[str, Path | None] = {} if before is None else {"before": before}
    checkouts["present"] = None
    counts = clients or [1, 8, 32]
    fields = json.loads(options)
    rows = measure(source, units, counts, checkouts, requests=requests, rounds=rounds, options=fields)
    if as_json:
        print_json({"rows": [asdict(row) for row in rows]})
        return
    for row in rows:
        out.print(
            f"{row.checkout:8s} {row.clients:3d} clients {row.requests_per_s:8.1f} requests/s  p50 {row.p50_ms:7.1f}  "
            f"p95 {row.p95_ms:7.1f}  p99 {row.p99_ms:7.1f} ms  {row.errors} errors  ratio {row.ratio:.3f}",
            markup=False,
            soft_wrap=True,
        )


if __name__ == "__main__":
    typer.run(main)
