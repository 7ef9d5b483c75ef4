"""Vectors and bytes a document, and search latency, of nuggets beside all token vectors, which is ColBERT's way.

    python -m research.benchmarks.nuggets --source samples/documents --ratios 0.05,0.1,0.25,1 [--encoder slice]

The documents are indexed once a ratio, into stores that are thrown away. Ratio 1 keeps every token: the same vectors,
files, search and scores as ColBERT's late interaction over the same encoder, so that only their number differs. One
unit vector set, which every collection has, is not counted. Queries are sentences of the documents, and are encoded
before the clock starts.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from app.search.modes.maxsim.nugget_queries import encode_nugget_queries
from indexer.engine.query import Selection
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.indexing.pipeline import IndexJob
from indexer.nuggets.files import COLUMNS, INDEX
from indexer.nuggets.queries import NuggetCandidates, NuggetScan
from indexer.nuggets.representation import stored_nuggets
from indexer.sources import Source
from indexer.types import Recipe
from models.encoders.base import Encoder
from models.encoders.nuggets.forward_pass import NuggetPass
from models.encoders.passes import UnitPass
from models.encoders.registry import EncoderOptions, load_encoder, load_nuggets
from models.types import Document, QueryVectors
from research.evaluation.searching import scratch_store
from research.evaluation.sentences import sentence_spans

_BY_DOCUMENT = Selection(group_by="document")
_NUGGET_FILES = (*COLUMNS, INDEX)


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of one ratio; latencies are medians, in milliseconds."""

    ratio: float
    documents: int
    vectors_per_document: float
    bytes_per_document: float
    query_vectors: float
    exact_ms: float
    candidates_ms: float
    recall_at_10: float


def measure(encoder: Encoder, nuggets: NuggetPass, documents: Sequence[Document], queries: Sequence[str]) -> Figures:
    """Index the documents with a ratio of nuggets, and search."""
    with scratch_store() as store:
        recipe = Recipe("bench", encoder.fingerprint, encoder.dim, details={"nuggets": nuggets.maker.details})
        collection = store.catalog.create_collection("bench", recipe)
        IndexJob(store, encoder, collection, forward=UnitPass(encoder, {"nuggets": nuggets.maker})).run(documents)
        snapshot = store.snapshot("bench")
        files = [view.segment.manifest.files for view in snapshot.views]
        size = sum(each[name].bytes for each in files for name in _NUGGET_FILES if name in each)
        vectors = sum(len(stored_nuggets(view.segment)) for view in snapshot.views)
        query_vectors = [query.vectors for query in encode_nugget_queries(nuggets, queries)]
        exact, exact_ms = _timed(NuggetScan, snapshot, query_vectors)
        candidates, candidates_ms = _timed(NuggetCandidates, snapshot, query_vectors)
    shared = [len(set(one) & set(other)) / max(1, len(one)) for one, other in zip(exact, candidates, strict=True)]
    return Figures(
        ratio=nuggets.ratio,
        documents=len(documents),
        vectors_per_document=round(vectors / len(documents), 1),
        bytes_per_document=round(size / len(documents), 1),
        query_vectors=round(statistics.mean(map(len, query_vectors)), 1),
        exact_ms=exact_ms,
        candidates_ms=candidates_ms,
        recall_at_10=round(statistics.mean(shared), 4),
    )


def _timed(query: type[NuggetScan], snapshot: Snapshot, queries: list[QueryVectors]) -> tuple[list[list[str]], float]:
    """The ids of the ten best documents of every query, asked one by one, and the median time."""
    search(snapshot, query(queries[:1]), _BY_DOCUMENT)
    answers, times = [], []
    for vectors in queries:
        begun = time.perf_counter()
        (documents,) = search(snapshot, query([vectors]), _BY_DOCUMENT)
        times.append(time.perf_counter() - begun)
        answers.append([snapshot.document_id(document) for document in documents])
    return answers, round(1000 * statistics.median(times), 2)


def sentences(documents: Sequence[Document], count: int) -> list[str]:
    """Sentences of documents spread over all of them."""
    step = max(1, len(documents) // count)
    texts = [document.text for document in documents[::step] if document.text.strip()]
    return [sentence_spans(text)[0].of(text) for text in texts][:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--ratios", default="0.05,0.1,0.25,1")
    parser.add_argument("--encoder", default="slice")
    parser.add_argument("--nugget-weights", type=Path, default=None)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--limit", type=int, default=None, help="only the first so many documents")
    given = parser.parse_args()
    options = EncoderOptions(nugget_weights=given.nugget_weights)
    encoder = load_encoder(given.encoder, options)
    nuggets = load_nuggets(given.encoder, options, base=encoder)
    good = (record for record in Source(given.source) if isinstance(record, Document))
    documents = list(islice(good, given.limit))
    queries = sentences(documents, given.queries)
    for ratio in map(float, given.ratios.split(",")):
        print(json.dumps(asdict(measure(encoder, NuggetPass(nuggets, ratio), documents, queries))), flush=True)


if __name__ == "__main__":
    main()
