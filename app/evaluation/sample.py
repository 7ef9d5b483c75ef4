"""The sample corpus: are its gold spans found, and are phrases without a match told apart?

A hit counts if it overlaps at least half of a gold span's units and is at most twice as long. BM25 ranks whole parts
and is given the point if the part holds a gold span, whatever else stands in it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from app.evaluation.scratch import scratch_store
from app.search.encoders import Encoders
from app.search.service import SearchService
from app.search.types import Hit, SearchRequest
from indexer.engine.scan import ScanEngine
from indexer.errors import SourceUnreadable
from indexer.pipeline import IndexJob
from indexer.sources import Source
from indexer.types import Recipe
from models import units
from models.encoders.base import Encoder
from models.types import CharSpan, Document, SpanBounds

CORPUS = "documents"
_COLLECTION = "sample"
_TOP = 5


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """Where a phrase's meaning stands in the corpus."""

    document_id: str
    span: CharSpan


@dataclass(frozen=True, slots=True)
class Phrase:
    """An origin phrase and its gold spans; none where the corpus says no such thing."""

    text: str
    gold: tuple[GoldSpan, ...]


@dataclass(frozen=True, slots=True)
class SampleFigures:
    """Hit rates over the phrases with gold; AUC of the best score, of phrases with a match against those without."""

    phrases: int
    top1: float
    top5: float
    bm25_top1: float
    no_match_auc: float


def evaluate_sample(folder: Path, encoder: Encoder, name: str, min_span: int | None = None) -> SampleFigures:
    """Index the sample corpus into a temporary store, search all phrases, and count.

    Spans have ``min_span`` units or more; by default as many as nine phrases of ten have (see ``shortest_span``).
    """
    documents = {record.id: record for record in Source(folder / CORPUS) if isinstance(record, Document)}
    phrases = read_phrases(folder)
    texts = [phrase.text for phrase in phrases]
    bounds = SpanBounds(min_span or shortest_span(texts))
    answers = _search(folder / CORPUS, encoder, Recipe(name, encoder.fingerprint, encoder.dim, bounds), texts)
    ranks = [_rank(phrase, hits, documents) for phrase, hits in zip(phrases, answers, strict=True) if phrase.gold]
    best = np.array([hits[0].score for hits in answers])
    has_match = np.array([bool(phrase.gold) for phrase in phrases])
    return SampleFigures(
        phrases=len(phrases),
        top1=_share(rank < 1 for rank in ranks),
        top5=_share(rank < _TOP for rank in ranks),
        bm25_top1=_bm25_top1(list(documents.values()), [phrase for phrase in phrases if phrase.gold]),
        no_match_auc=auc(best[has_match], best[~has_match]),
    )


def shortest_span(phrases: Sequence[str]) -> int:
    """How many units nine phrases of ten have at least: a shorter span can hardly mean the same.

    The SLICE paper (section 3) takes its bounds from a sample of origin phrases, the longest span so that it covers
    nine of ten; this is the same for the shortest.

    >>> shortest_span(["one two three four"] * 9 + ["one"])
    4
    """
    return int(np.percentile([len(units.split(phrase)) for phrase in phrases], 10, method="higher"))


def read_phrases(folder: Path) -> list[Phrase]:
    """All phrases below a folder, from its files ``phrases*.ndjson``."""
    lines = [line for path in sorted(folder.glob("phrases*.ndjson")) for line in path.read_text("utf-8").splitlines()]
    if not lines:
        raise SourceUnreadable(f"{folder} holds no phrases*.ndjson.", hint="Give the sample corpus with --samples.")
    return [_phrase(json.loads(line)) for line in lines]


def _phrase(value: dict[str, Any]) -> Phrase:
    spans = (GoldSpan(gold["document_id"], CharSpan(gold["start"], gold["end"])) for gold in value["gold"])
    return Phrase(value["phrase"], tuple(spans))


def _search(corpus: Path, encoder: Encoder, recipe: Recipe, phrases: Sequence[str]) -> list[tuple[Hit, ...]]:
    with scratch_store() as store:
        collection = store.catalog.create_collection(_COLLECTION, recipe)
        IndexJob(store, encoder, collection).run(Source(corpus))
        service = SearchService(store, Encoders.of({recipe.encoder: encoder}), ScanEngine())
        answers = service.search(*(SearchRequest(_COLLECTION, text=text, top_k=_TOP) for text in phrases))
        return [answer.hits for answer in answers]


def _rank(phrase: Phrase, hits: Sequence[Hit], documents: dict[str, Document]) -> float:
    """At which place, from 0, the first right hit stands."""
    for rank, hit in enumerate(hits):
        if any(is_right(hit, gold, documents[hit.document_id].text) for gold in phrase.gold):
            return rank
    return float("inf")


def is_right(hit: Hit, gold: GoldSpan, text: str) -> bool:
    """Whether a hit covers at least half of a gold span's units with at most twice as many."""
    if hit.document_id != gold.document_id:
        return False
    spans = units.split(text)
    in_hit = (spans[:, 0] < hit.end) & (spans[:, 1] > hit.start)
    in_gold = (spans[:, 0] < gold.span.end) & (spans[:, 1] > gold.span.start)
    return bool(2 * (in_hit & in_gold).sum() >= in_gold.sum() and in_hit.sum() <= 2 * in_gold.sum())


def _bm25_top1(documents: Sequence[Document], phrases: Sequence[Phrase]) -> float:
    places, texts = [], []
    for document in documents:
        start = 0
        for part in document.parts:
            places.append((document.id, CharSpan(start, start + len(part.text))))
            texts.append(part.text)
            start += len(part.text) + 1
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    queries = bm25s.tokenize([phrase.text for phrase in phrases], stopwords="en", show_progress=False)
    best, _ = retriever.retrieve(queries, k=1, show_progress=False)
    return _share(
        any(gold.document_id == places[row][0] and _within(gold.span, places[row][1]) for gold in phrase.gold)
        for phrase, (row,) in zip(phrases, best, strict=True)
    )


def _within(inner: CharSpan, outer: CharSpan) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    """Chance that a positive scores above a negative; ties count half.

    >>> auc(np.array([3.0, 2.0]), np.array([1.0, 2.0]))
    0.875
    """
    above = positive[:, None] > negative[None]
    equal = positive[:, None] == negative[None]
    return float((above + 0.5 * equal).mean())


def _share(truths: Iterable[bool]) -> float:
    values = list(truths)
    return sum(values) / len(values)
