"""Mode facets beside the other modes: time of a search, bytes of a sentence, and what candidates miss.

    python -m research.benchmarks.facet_latency --source articles.ndjson [--sentences 100000] [--dim 384] [--queries 40]

The first documents of the source that have so many sentences are indexed, with words, facets, and one nugget of ten
tokens; the encoder ``hashing`` makes the vectors of units, so that no network but that of facets takes part. Queries
are five words of one part of a document in random order. Modes take turns, query by query. ``missed`` is the share of
the ten best sentences by exact scores of all that a search does not return.
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Final

import numpy as np

from app.collections.recipes import CollectionOptions, with_representations
from app.encoders.encoders import Encoders
from app.requests import ModeName, SearchRequest
from app.search.mode import load_modes
from app.search.service import SearchService
from indexer.engine.query import Selection
from indexer.engine.selection import search
from indexer.indexing.pipeline import IndexJob
from indexer.sources import Source
from indexer.store import Store
from indexer.types import Recipe
from indexer.words.files import BOUNDS, OF_UNITS, STARTS, TERMS, UNITS
from models.encoders.hashing import HashingEncoder
from models.text.borders import sentence_spans
from models.types import Document
from research.benchmarks.http_latency import print_figures
from research.benchmarks.hybrid_latency import queries_of, shipped_score
from research.evaluation.searching import COLLECTION, scratch_store
from spanseek_facets.scan import FacetScan
from spanseek_facets.shipped import Facets

MODES: Final[tuple[ModeName, ...]] = ("best_span", "hybrid", "lexical", "maxsim", "facets")
_NUGGET_RATIO: Final = 0.1
_WARM_UP: Final = 3
_TOP: Final = 10


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians in milliseconds of searches, and of exact scores of all sentences; bytes on disk for every sentence.

    ``unit_bytes`` are those of all that is neither words nor nuggets nor facets: vectors, texts, and the documents.
    """

    sentences: int
    documents: int
    queries: int
    best_span_p50_ms: float
    hybrid_p50_ms: float
    lexical_p50_ms: float
    maxsim_p50_ms: float
    facets_p50_ms: float
    exhaustive_p50_ms: float
    missed: float
    unit_bytes: float
    word_bytes: float
    nugget_bytes: float
    facet_bytes: float
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


def times_of(service: SearchService, queries: Sequence[str]) -> dict[ModeName, float]:
    """The median of milliseconds in every mode."""
    times: dict[ModeName, list[float]] = {mode: [] for mode in MODES}
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
        best = search(snapshot, FacetScan((codebook,), everything=True), selection)[0]
        times.append(1000 * (time.perf_counter() - started))
        hits = search(snapshot, FacetScan((codebook,)), selection)[0]
        shares.append(mean(span not in set(hits) for span in best))
    return mean(shares), median(times)


def measure(source: Path, sentences: int, dim: int, queries: int, seed: int) -> Figures:
    """Index and search. Raises ``SystemExit`` for a source without documents."""
    records = (record for record in Source(source) if isinstance(record, Document))
    documents = list(first_documents(records, sentences))
    if not any(document.text for document in documents):
        raise SystemExit(f"{source} has no text.")
    encoder = HashingEncoder(dim=dim)
    encoders = Encoders.of({"hashing": encoder}, shipped_score())
    with scratch_store() as store:
        stored = CollectionOptions(representations={"nuggets": {"ratio": _NUGGET_RATIO}, "facets": {}})
        units = Recipe("hashing", encoder.fingerprint, dim)
        collection = store.catalog.create_collection(COLLECTION, with_representations(units, encoders, stored, None))
        forward = encoders.forward_pass(collection.recipe)
        started = time.perf_counter()
        IndexJob(store, encoder, collection, forward=forward).run(documents)
        took = 1000 * (time.perf_counter() - started)
        service = SearchService(store, load_modes(encoders))
        texts = queries_of(documents, queries, seed)
        times = times_of(service, texts)
        share, exhaustive = missed(store, encoders.shared(Facets), texts)
        rows, sizes = sizes_of(store)
        return Figures(
            sentences=rows,
            documents=len(documents),
            queries=len(texts),
            best_span_p50_ms=round(times["best_span"], 1),
            hybrid_p50_ms=round(times["hybrid"], 1),
            lexical_p50_ms=round(times["lexical"], 1),
            maxsim_p50_ms=round(times["maxsim"], 1),
            facets_p50_ms=round(times["facets"], 1),
            exhaustive_p50_ms=round(exhaustive, 1),
            missed=round(share, 4),
            unit_bytes=round(sizes["units"] / rows, 1),
            word_bytes=round(sizes["words"] / rows, 1),
            nugget_bytes=round(sizes["nuggets"] / rows, 1),
            facet_bytes=round(sizes["facets"] / rows, 1),
            index_ms_per_sentence=round(took / rows, 2),
        )


def sizes_of(store: Store) -> tuple[int, Counter[str]]:
    """Sentences with facets, and bytes on disk by what they are of."""
    segments = [view.segment for view in store.snapshot(COLLECTION).views]
    sizes: Counter[str] = Counter()
    for path in (path for segment in segments for path in segment.folder.iterdir()):
        sizes[_content(path.name)] += path.stat().st_size
    return int(np.sum([segment.manifest.rows["facets"] for segment in segments])), sizes


def _content(file: str) -> str:
    """Kind of content that a file of a segment holds.

    >>> [_content(file) for file in ("facets.i8", "nuggets.faiss", "word_units.u32", "vectors.i8")]
    ['facets', 'nuggets', 'words', 'units']
    """
    if file in {OF_UNITS, UNITS, STARTS, BOUNDS, TERMS}:
        return "words"
    return next((name for name in ("facets", "nuggets") if file.startswith(name[:-1])), "units")


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
