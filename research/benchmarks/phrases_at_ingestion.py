"""Benchmark of the time that thousands of saved phrases, and judging their matches, add to the indexing of documents.

    python -m research.benchmarks.phrases_at_ingestion --source FILE [--phrases 10000] [--units 60] [--documents 1]
        [--threshold 0.85] [--likely-only] [--encoder slice] [--rounds 20] [--cpu] [--json]

Phrases are runs of 2 to 6 words from the source's texts, all of them different; the documents, of so many units each,
are from texts that come after these. So many at a time are indexed into a collection without phrases, into one with
them, and into one whose matches take the second look, in turn.
Times are medians; run it with one thread (OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1) on an idle machine, or ask for the
processor's time with --cpu, in which waiting for the disk is not counted.
"""

import argparse
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np

from app.encoders.encoders import Encoders
from app.phrases.service import PhraseService
from indexer.engine.views import SegmentView
from indexer.indexing.encode import encode, split
from indexer.indexing.matching import match
from indexer.indexing.pipeline import IndexJob
from indexer.phrases import PhraseDraft
from indexer.segments.opened import open_segment
from indexer.sources import Source
from indexer.store import Store
from indexer.types import Recipe
from models.encoders.base import Encoder
from models.encoders.registry import load_encoder
from models.text.units import split as split_units
from models.types import Document, Part
from models.verifier.verifier import Verifier
from research.evaluation.searching import scratch_store

Clock = Callable[[], float]

_WORDS = re.compile(r"\w+")
_LONGEST_PHRASE = 6


def texts(source: Path) -> Iterator[str]:
    """The parts of all documents of a source."""
    documents = (record for record in Source(source) if isinstance(record, Document))
    return (part.text for document in documents for part in document.parts)


def some_phrases(source: Iterator[str], count: int) -> list[str]:
    """So many different runs of words; takes from the source what it needs."""
    phrases: dict[str, None] = {}
    for text in source:
        words = _WORDS.findall(text)
        for begin in range(0, len(words) - _LONGEST_PHRASE, _LONGEST_PHRASE):
            phrases[" ".join(words[begin : begin + 2 + len(phrases) % (_LONGEST_PHRASE - 1)])] = None
        if len(phrases) >= count:
            return list(islice(phrases, count))
    raise SystemExit("the source has too few texts for so many phrases")


def some_documents(source: Iterator[str], units: int, count: int) -> list[Document]:
    """Documents of exactly so many units."""
    documents: list[Document] = []
    for text in source:
        spans = split_units(text)
        if len(spans) >= units:
            cut = text[int(spans[0][0]) : int(spans[units - 1][1])]
            documents.append(Document(f"d{len(documents)}", (Part(cut),)))
        if len(documents) == count:
            return documents
    raise SystemExit("the source has too few texts of so many units")


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Milliseconds that some work takes by a clock."""
    started = clock()
    work()
    return (clock() - started) * 1000


def measure(
    store: Store, name: str, drafts: list[PhraseDraft], jobs: list[list[Document]], clock: Clock
) -> dict[str, float]:
    """The figures: the first job warms everything up and is not counted."""
    encoder = load_encoder(name)
    recipe = Recipe(name, encoder.fingerprint, encoder.dim)
    _, saved, _ = (store.catalog.create_collection(each, recipe) for each in ("plain", "saved", "judged"))
    encoders = Encoders.of({name: encoder})
    store.verifier = encoders.verifier
    service = PhraseService(store, encoders)
    saving = timed(lambda: service.put("saved", [replace(draft, likely_only=False) for draft in drafts]), clock)
    service.put("judged", drafts)
    loading = timed(lambda: store.phrases.present(saved.id), clock)
    rows = [_round(store, encoders.verifier(recipe), encoder, documents, clock) for documents in jobs]
    figures = {key: round(median(row[key] for row in rows[1:]), 3) for key in rows[0]}
    return figures | {
        "extra_of_encoding": round(figures["extra_ms"] / figures["encoding_ms"], 3),
        "judged_to_unjudged_job": round(figures["judged_job_ms"] / figures["job_with_phrases_ms"], 3),
        "saving_s": round(saving / 1000, 1),
        "loading_ms": round(loading, 1),
    }


def _round(
    store: Store, verifier: Verifier | None, encoder: Encoder, documents: list[Document], clock: Clock
) -> dict[str, float]:
    def index(name: str, verifier: Verifier | None = None) -> float:
        store.verifier = lambda recipe: verifier
        job = IndexJob(store, encoder, store.catalog.collection(name), merge=False)
        return timed(lambda: job.run(documents), clock)

    def encoded() -> None:
        list(encode(encoder, split(encoder, [(document, "") for document in documents]), encoder.batch_tokens))

    judged, beside, without = index("judged", verifier), index("saved"), index("plain")
    encoding = timed(encoded, clock)
    collection = store.catalog.collection("saved")
    newest = store.catalog.live_generation("saved").segments[-1].info
    view = SegmentView(
        open_segment(store.folder(collection) / newest.name, newest.manifest_sha256), np.zeros(0, np.int64)
    )
    phrases = store.phrases.present(collection.id)
    matched = match(store, view, phrases)
    return {
        "encoding_ms": encoding,
        "matching_ms": timed(lambda: match(store, view, store.phrases.present(collection.id)), clock),
        "job_ms": without,
        "job_with_phrases_ms": beside,
        "judged_job_ms": judged,
        "extra_ms": beside - without,
        "judging_ms": judged - beside,
        "matches": len(matched),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--phrases", type=int, default=10_000)
    parser.add_argument("--units", type=int, default=60)
    parser.add_argument("--documents", type=int, default=1, help="documents of one job")
    parser.add_argument("--likely-only", action="store_true", help="all matches are judged, and likely ones kept")
    parser.add_argument("--threshold", type=float, default=0.85)
    parser.add_argument("--encoder", default="slice")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--cpu", action="store_true", help="the processor's time, for machines that are not idle")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    source = texts(given.source)
    phrases = some_phrases(source, given.phrases)
    documents = some_documents(source, given.units, given.documents * (given.rounds + 1))
    jobs = [documents[at : at + given.documents] for at in range(0, len(documents), given.documents)]
    drafts = [PhraseDraft(text, text, given.threshold, "raw", likely_only=given.likely_only) for text in phrases]
    clock = time.process_time if given.cpu else time.perf_counter
    with scratch_store() as store:
        figures = measure(store, given.encoder, drafts, jobs, clock)
    print(json.dumps(figures) if given.json else "\n".join(f"{name:22s} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
