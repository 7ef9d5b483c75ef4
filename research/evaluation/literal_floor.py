"""Rank of verbatim occurrences: random phrases of a corpus, searched in every mode that reads words.

    python -m research.evaluation.literal_floor --source documents.ndjson [--phrases 40] [--encoder slice]

A phrase is a run of three to six folded words of one part. Its occurrences are counted in the texts, naively and
without overlaps; a search is right about those that rank before anything that is not marked ``exact``.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Final

from app.cli.console import print_json
from app.collections.service import CollectionService
from app.encoders.encoders import Encoders
from app.requests import MAX_TOP_K, ModeName, SearchRequest
from app.search.mode import load_modes
from app.search.service import SearchService
from app.settings import Settings
from indexer.indexing.pipeline import IndexJob
from indexer.sources import Source
from models.text.words import words
from models.types import Document
from research.evaluation.searching import COLLECTION, scratch_store

MODES: Final[tuple[ModeName, ...]] = ("best_span", "lexical", "hybrid")
_SHORTEST, _LONGEST = 3, 6


@dataclass(frozen=True, slots=True)
class Found:
    """Number of verbatim occurrences, at most 1,000 for each phrase, and of those that rank before all else."""

    occurrences: int
    first: int


def occurrences(part: Sequence[str], phrase: Sequence[str]) -> int:
    """The occurrences of a phrase in the words of a part that do not overlap.

    >>> occurrences(["no", "no", "no", "go"], ["no", "no"])
    1
    """
    count = start = 0
    while start + len(phrase) <= len(part):
        found = part[start : start + len(phrase)] == phrase
        count += found
        start += len(phrase) if found else 1
    return count


def random_phrases(parts: Sequence[Sequence[str]], count: int, seed: int) -> Iterator[list[str]]:
    """Runs of three to six words of random parts."""
    rng = random.Random(seed)  # noqa: S311  sampling, not secrets
    long_enough = [part for part in parts if len(part) >= _LONGEST]
    for _ in range(count):
        part, size = rng.choice(long_enough), rng.randint(_SHORTEST, _LONGEST)
        start = rng.randint(0, len(part) - size)
        yield list(part[start : start + size])


def measure(service: SearchService, mode: ModeName, phrases: Sequence[list[str]], parts: Sequence[list[str]]) -> Found:
    """Search for every phrase in one mode."""
    total = first = 0
    for phrase in phrases:
        there = min(sum(occurrences(part, phrase) for part in parts), MAX_TOP_K)
        request = SearchRequest(COLLECTION, text=" ".join(phrase), mode=mode, top_k=MAX_TOP_K, threshold=0)
        exact = takewhile(lambda hit: hit.match == "exact", service.search(request)[0].hits)
        # A sentence may hold several.
        total += there
        first += min(sum(occurrences(list(words(hit.text)), phrase) for hit in exact), there)
    return Found(total, first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="documents, as `spanseek index` takes them")
    parser.add_argument("--documents", type=int, default=500, help="the first so many are indexed")
    parser.add_argument("--phrases", type=int, default=40)
    parser.add_argument("--encoder", help="by default that of the settings")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    settings = Settings()
    encoder = given.encoder or settings.encoder
    records = (record for record in Source(given.source) if isinstance(record, Document))
    documents = list(islice(records, given.documents))
    parts = [list(words(part.text)) for document in documents for part in document.parts]
    phrases = list(random_phrases(parts, given.phrases, given.seed))
    encoders = Encoders(settings.encoder_options)
    with scratch_store() as store:
        collection = CollectionService(store, encoders, default_encoder=encoder).create(COLLECTION).collection
        IndexJob(store, encoders.load(encoder), collection).run(documents)
        service = SearchService(store, load_modes(encoders))
        print_json({mode: asdict(measure(service, mode, phrases, parts)) for mode in MODES})


if __name__ == "__main__":
    main()
