"""Do the scan and the oracle of ``tests/materialized.py`` find the same best span of every part?

    python -m research.benchmarks.agreement --source FILE [--encoder untrained] [--parts 2000] [--queries 200] [--json]

Indexes the first documents of the source until there are enough parts, takes sentences of documents after these as
queries, and compares the two engines' best span of every part.
"""

import argparse
import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from indexer.engine.place import ScoredSpan
from indexer.engine.query import Selection
from indexer.engine.scan import SpanScan
from indexer.engine.selection import search
from indexer.engine.snapshot import Snapshot
from indexer.indexing.pipeline import IndexJob
from indexer.sources import Source
from indexer.types import Recipe
from models.encoders.base import Encoder, encode_queries
from models.encoders.registry import load_encoder
from models.types import Document
from research.evaluation.searching import scratch_store
from tests.materialized import MaterializedExecutor

# Queries for which both engines are asked at once.
_BATCH = 20


def take(source: Path, parts: int, queries: int) -> tuple[list[Document], list[str]]:
    """Documents with at least so many parts, and as query texts the first lines of what comes after."""
    records = (record for record in Source(source) if isinstance(record, Document))
    documents: list[Document] = []
    while sum(len(document.parts) for document in documents) < parts:
        documents.append(next(records))
    lines = (part.text[:100] for document in records for part in document.parts if len(part.text) > 20)
    return documents, list(islice(lines, queries))


def compare(snapshot: Snapshot, encoder: Encoder, texts: list[str]) -> dict[str, float]:
    """The largest difference of scores, and the share of parts whose best span is the same."""
    selection = Selection(top_k=10**9, group_by="part")
    materialized = snapshot.read_by(MaterializedExecutor())
    largest, same, total = 0.0, 0, 0
    for begin in range(0, len(texts), _BATCH):
        queries = encode_queries(encoder, texts[begin : begin + _BATCH])
        pairs = zip(
            *(search(of, SpanScan(queries), selection, len(queries)) for of in (snapshot, materialized)), strict=True
        )
        for ours, theirs in pairs:
            best, other = (_by_part(map(snapshot.scored, spans)) for spans in (ours, theirs))
            assert best.keys() == other.keys()
            largest = max(largest, *(abs(best[part].cosine - other[part].cosine) / 2 for part in best))
            same += sum(best[part].span == other[part].span for part in best)
            total += len(best)
    return {
        "queries": len(texts),
        "parts": total // len(texts),
        "largest_raw_difference": float(np.float32(largest)),
        "same_span": round(same / total, 6),
    }


def _by_part(spans: Iterable[ScoredSpan]) -> dict[tuple[str, int], ScoredSpan]:
    return {(span.document_id, span.place.part_span.start): span for span in spans}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--encoder", default="slice")
    parser.add_argument("--parts", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    encoder = load_encoder(given.encoder)
    documents, texts = take(given.source, given.parts, given.queries)
    with scratch_store() as store:
        recipe = Recipe(given.encoder, encoder.fingerprint, encoder.dim)
        IndexJob(store, encoder, store.catalog.create_collection("bench", recipe)).run(documents)
        figures = compare(store.snapshot("bench"), encoder, texts)
    print(json.dumps(figures) if given.json else "\n".join(f"{name:24s} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
