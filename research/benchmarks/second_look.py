"""Benchmark of the second look: the time and the memory that it takes.

    SPANSEEK_DATA_DIR=DATA python -m research.benchmarks.second_look --collection C --phrases FILE [--corpus C] [--json]

FILE has one phrase a line, or ``{"text": ..., "corpus": ...}``, as ``research/data/judged/queries.ndjson``. The first
five warm the process up and give the memory: what it grows by, of its own and in pages of files, when they are searched
with the second look, after a search without. Each of the others is searched with it, for the first time; then its
twenty best hits are judged anew, in float32 and as this processor does it by default, one after the other. Figures are
medians of milliseconds.
"""

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from unittest import mock

from app.cli.console import open_services
from app.requests import VERIFIED, SearchRequest
from app.search.service import SearchService, encode, scan
from app.search.verification.stage import pairs_of
from app.services import Services
from models.encoders.base import Encoder
from models.verifier.types import Pair
from models.verifier.verifier import Verifier, open_verifier
from research.benchmarks.previews import milliseconds

_WARM_UP = 5


def measure(services: Services, collection: str, phrases: Sequence[str]) -> dict[str, float]:
    """The figures of a collection's phrases."""
    for phrase in phrases[:_WARM_UP]:
        _search(services, collection, phrase, 0)
    before = _memory_mb()
    for phrase in phrases[:_WARM_UP]:
        _search(services, collection, phrase, VERIFIED)
    own, mapped = (after - now for after, now in zip(_memory_mb(), before, strict=True))
    recipe = services.store.present(collection).recipe
    encoder = services.encoders.load(recipe.encoder)
    with mock.patch("models.verifier.network.has_byte_products", return_value=False):
        exact = _verifier(encoder)
    native, found = _verifier(encoder), []
    for phrase in phrases:
        searched = milliseconds(partial(_search, services, collection, phrase, VERIFIED))
        pairs = _pairs(services, collection, phrase)
        found.append((searched, *(milliseconds(partial(each.judge, pairs)) for each in (exact, native))))
    searches, in_floats, as_default = zip(*found[_WARM_UP:], strict=True)
    return {
        "phrases": len(searches),
        "search_ms": round(median(searches), 1),
        "judging_float32_ms": round(median(in_floats), 1),
        "judging_ms": round(median(as_default), 1),
        "judging_p95_ms": round(quantiles(as_default, n=20)[-1], 1),
        "ratio": round(median(b / a for _, a, b in found[_WARM_UP:]), 2),
        "memory_mb": round(own),
        "mapped_mb": round(mapped),
    }


def _search(services: Services, collection: str, phrase: str, verified: int) -> None:
    services.get(SearchService).search(SearchRequest(collection, text=phrase, verify=verified))


def _pairs(services: Services, collection: str, phrase: str) -> list[Pair]:
    request = SearchRequest(collection, text=phrase, top_k=VERIFIED)
    (encoded,) = encode([services.get(SearchService).prepare(request)])
    (found,) = scan([encoded])
    return pairs_of(request, encoded.prepared.snapshot, found.rows[:VERIFIED])


def _verifier(encoder: Encoder) -> Verifier:
    verifier = open_verifier(encoder)
    if verifier is None:
        raise SystemExit("The encoder of this collection has no verifier.")
    return verifier


def _memory_mb() -> tuple[float, float]:
    """The process's own memory, and pages of files, which the system takes back where it needs them."""
    lines = (line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    kilobytes = {words[0]: int(words[1]) for words in lines}
    own = kilobytes["Anonymous:"]
    return own / 1000, (kilobytes["Rss:"] - own) / 1000


def _phrases(file: Path, corpus: str) -> list[str]:
    lines = file.read_text().splitlines()
    if file.suffix != ".ndjson":
        return lines
    queries = map(json.loads, lines)
    return [query["text"] for query in queries if query.get("corpus", corpus) == corpus]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", required=True)
    parser.add_argument("--phrases", type=Path, required=True)
    parser.add_argument("--corpus", help="the corpus of the phrases; by default the name of the collection")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    phrases = _phrases(options.phrases, options.corpus or options.collection)
    with open_services() as services:
        figures = measure(services, options.collection, phrases)
    print(json.dumps(figures) if options.json else "\n".join(f"{name:20} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
