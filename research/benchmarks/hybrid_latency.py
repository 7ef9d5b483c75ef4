"""Mode hybrid beside the best span alone and mode lexical: the time of a search, in one run over one collection.

    python -m research.benchmarks.hybrid_latency --source documents.ndjson [--units 1000000] [--dim 384] [--queries 40]

Documents of the source are indexed again and again, under new ids, until there are so many units; the encoder
``hashing`` makes their vectors, so that no network decides how long this takes. Queries are five words of one part of a
document in random order: few of them stand in the texts as they are. Modes take turns, query by query.
"""

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final

from app.encoders.encoders import Encoders
from app.requests import ModeName, SearchRequest
from app.search.mode import load_modes
from app.search.service import SearchService
from indexer.indexing.pipeline import IndexJob
from indexer.sources import Source
from indexer.types import Recipe
from indexer.words.recipe import with_words
from models.encoders.hashing import HashingEncoder
from models.encoders.registry import EncoderOptions, load_encoder, load_span_score
from models.ops.span_score import SpanScore
from models.text.units import split
from models.types import Document
from research.benchmarks.http_latency import print_figures
from research.evaluation.searching import COLLECTION, scratch_store

MODES: Final[tuple[ModeName, ...]] = ("best_span", "lexical", "hybrid")
DEFAULT_ENCODER: Final = "slice"
_WARM_UP: Final = 3
_WORDS: Final = 5


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians in milliseconds, and how many times as long as the best span alone hybrid takes, query by query."""

    units: int
    queries: int
    best_span_p50_ms: float
    lexical_p50_ms: float
    hybrid_p50_ms: float
    hybrid_ratio: float


def shipped_score() -> SpanScore:
    """The span score of the default encoder: its terms take time, and decide which sentences count."""
    encoder = load_encoder(DEFAULT_ENCODER)
    return load_span_score(EncoderOptions(), DEFAULT_ENCODER, encoder.fingerprint)


def repeated(documents: Sequence[Document], units: int) -> Iterator[Document]:
    """The documents, over and over under new ids, until there are so many units.

    >>> from models.types import Part
    >>> [each.id for each in repeated([Document("a", (Part("one two"),))], 5)]
    ['a-0', 'a-1', 'a-2']
    """
    there = 0
    for turn in count():
        for document in documents:
            if there >= units:
                return
            there += sum(len(split(part.text)) for part in document.parts)
            yield replace(document, id=f"{document.id}-{turn}")


def queries_of(documents: Sequence[Document], number: int, seed: int) -> list[str]:
    """Five words of one part, in random order."""
    rng = random.Random(seed)
    parts = [part.text.split() for document in documents for part in document.parts]
    long_enough = [words for words in parts if len(words) > _WORDS]
    return [" ".join(rng.sample(rng.choice(long_enough), _WORDS)) for _ in range(number)]


def times_of(service: SearchService, queries: Sequence[str]) -> dict[ModeName, list[float]]:
    """Milliseconds of every query in every mode."""
    times: dict[ModeName, list[float]] = {mode: [] for mode in MODES}
    for query in [*queries[:_WARM_UP], *queries]:
        for mode, of_mode in times.items():
            started = time.perf_counter()
            service.search(SearchRequest(COLLECTION, text=query, mode=mode, threshold=0))
            of_mode.append(1000 * (time.perf_counter() - started))
    return {mode: of_mode[_WARM_UP:] for mode, of_mode in times.items()}


def measure(source: Path, units: int, dim: int, queries: int, seed: int) -> Figures:
    """Index and search. Raises ``SystemExit`` for a source without documents."""
    documents = [record for record in Source(source) if isinstance(record, Document)]
    if not sum(len(part.text) for document in documents for part in document.parts):
        raise SystemExit(f"{source} has no text.")
    encoder = HashingEncoder(dim=dim)
    with scratch_store() as store:
        recipe = with_words(Recipe("hashing", encoder.fingerprint, dim))
        collection = store.catalog.create_collection(COLLECTION, recipe)
        IndexJob(store, encoder, collection).run(repeated(documents, units))
        service = SearchService(store, load_modes(Encoders.of({"hashing": encoder}, shipped_score())))
        times = times_of(service, queries_of(documents, queries, seed))
        pairs = zip(times["hybrid"], times["best_span"], strict=True)
        return Figures(
            units=store.snapshot(COLLECTION).units,
            queries=queries,
            best_span_p50_ms=round(median(times["best_span"]), 2),
            lexical_p50_ms=round(median(times["lexical"]), 2),
            hybrid_p50_ms=round(median(times["hybrid"]), 2),
            hybrid_ratio=round(median(ours / alone for ours, alone in pairs), 3),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path("samples/documents"), help="documents to repeat")
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = measure(given.source, given.units, given.dim, given.queries, given.seed)
    print_figures(figures, as_json=given.json)


if __name__ == "__main__":
    main()
