"""Mode facets beside the best span and mode lexical: time of a search, bytes of a sentence, and what candidates miss.

    python -m research.benchmarks.facet_latency --source articles.ndjson [--sentences 100000] [--dim 384] [--queries 40]

The first documents of the source that have so many sentences are indexed; the encoder ``hashing`` makes the vectors of
units, so that no network but that of facets takes part. Queries are five words of one part of a document in random
order. Modes take turns, query by query. ``missed`` is the share of the ten best sentences by exact scores of all that a
search does not return.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Final

import numpy as np

from app.facets.weights import Facets
from app.search.encoders import Encoders
from app.search.modes import load_modes
from app.search.service import SearchService
from app.search.types import Mode, SearchRequest
from indexer.engine.query import Selection
from indexer.engine.scan import ScanEngine
from indexer.engine.selection import choose
from indexer.facets.recipe import FacetPass, with_facets
from indexer.facets.scan import count_spans, search_facets
from indexer.facets.sentences import sentence_spans
from indexer.pipeline import IndexJob
from indexer.sources import Source
from indexer.store import Store
from indexer.types import Recipe
from indexer.words.recipe import with_words
from models.encoders.hashing import HashingEncoder
from models.encoders.passes import UnitPass
from models.types import Document
from research.benchmarks.http_latency import print_figures
from research.benchmarks.hybrid_latency import queries_of
from research.evaluation.searching import COLLECTION, scratch_store

MODES: Final[tuple[Mode, ...]] = ("best_span", "lexical", "facets")
_WARM_UP: Final = 3
_TOP: Final = 10


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians in milliseconds of searches, and of exact scores of all sentences; bytes on disk for every sentence."""

    sentences: int
    queries: int
    best_span_p50_ms: float
    lexical_p50_ms: float
    facets_p50_ms: float
    exhaustive_p50_ms: float
    missed: float
    facet_bytes: float
    unit_bytes: float
    index_ms_per_sentence: float


def first_documents(documents: Iterator[Document], sentences: int) -> Iterator[Document]:
    """The first documents that have so many sentences.

    >>> from models.types import Part
    >>> documents = [Document(id, (Part("One. Two."),)) for id in "abc"]
    >>> [document.id for document in first_documents(iter(documents), 3)]
    ['a', 'b']
    """
    there = 0
    for document in documents:
        if there >= sentences:
            return
        there += sum(len(sentence_spans(part.text)) for part in document.parts)
        yield document


def times_of(service: SearchService, queries: Sequence[str]) -> dict[Mode, float]:
    """The median of milliseconds in every mode."""
    times: dict[Mode, list[float]] = {mode: [] for mode in MODES}
    for query in [*queries[:_WARM_UP], *queries]:
        for mode, of_mode in times.items():
            started = time.perf_counter()
            service.search(SearchRequest(COLLECTION, text=query, mode=mode, threshold=0))
            of_mode.append(1000 * (time.perf_counter() - started))
    return {mode: median(of_mode[_WARM_UP:]) for mode, of_mode in times.items()}


def missed(store: Store, facets: Facets, queries: Sequence[str]) -> tuple[float, float]:
    """The share of the best sentences that candidates miss, and milliseconds of scoring all of them."""
    snapshot, selection = store.snapshot(COLLECTION), Selection(_TOP)
    shares, times = [], []
    for codebook in facets.sentences.encode(queries):
        started = time.perf_counter()
        best = choose(count_spans(snapshot, codebook, (), selection), selection)
        times.append(1000 * (time.perf_counter() - started))
        hits = search_facets(snapshot, codebook, (), selection)
        places = {(hit.document_id, hit.span) for hit in hits}
        shares.append(mean((span.document_id, span.span) not in places for span in best))
    return mean(shares), median(times)


def measure(source: Path, sentences: int, dim: int, queries: int, seed: int) -> Figures:
    """Index and search. Raises ``SystemExit`` for a source without documents."""
    records = (record for record in Source(source) if isinstance(record, Document))
    documents = list(first_documents(records, sentences))
    if not any(document.text for document in documents):
        raise SystemExit(f"{source} has no text.")
    encoder, facets = HashingEncoder(dim=dim), Facets()
    with scratch_store() as store:
        recipe = with_facets(with_words(Recipe("hashing", encoder.fingerprint, dim)), facets.sentences)
        collection = store.catalog.create_collection(COLLECTION, recipe)
        started = time.perf_counter()
        IndexJob(store, encoder, collection, forward=FacetPass(UnitPass(encoder), facets.sentences)).run(documents)
        took = 1000 * (time.perf_counter() - started)
        service = SearchService(store, load_modes(Encoders.of({"hashing": encoder}), ScanEngine()))
        texts = queries_of(documents, queries, seed)
        times = times_of(service, texts)
        share, exhaustive = missed(store, facets, texts)
        rows, of_facets, others = sizes(store)
        return Figures(
            sentences=rows,
            queries=len(texts),
            best_span_p50_ms=round(times["best_span"], 1),
            lexical_p50_ms=round(times["lexical"], 1),
            facets_p50_ms=round(times["facets"], 1),
            exhaustive_p50_ms=round(exhaustive, 1),
            missed=round(share, 4),
            facet_bytes=round(of_facets / rows, 1),
            unit_bytes=round(others / rows, 1),
            index_ms_per_sentence=round(took / rows, 2),
        )


def sizes(store: Store) -> tuple[int, int, int]:
    """Sentences with facets, and bytes on disk of facets and of everything else."""
    segments = [view.segment for view in store.snapshot(COLLECTION).views]
    files = [path for segment in segments for path in segment.folder.iterdir()]
    of_facets = sum(path.stat().st_size for path in files if path.name.startswith("facet"))
    everything = sum(path.stat().st_size for path in files)
    return int(np.sum([segment.manifest.rows["facets"] for segment in segments])), of_facets, everything - of_facets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="documents to index")
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = measure(given.source, given.sentences, given.dim, given.queries, given.seed)
    print_figures(figures, as_json=given.json)


if __name__ == "__main__":
    main()
