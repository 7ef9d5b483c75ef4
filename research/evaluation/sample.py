"""The sample corpus: retrieval of its gold spans, and separation of phrases without a match.

A hit counts if it overlaps at least half of a gold span's units and is at most twice as long. BM25 ranks whole parts
and is given the point if the part holds a gold span, whatever else stands in it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.requests import SearchRequest
from indexer.errors import SourceUnreadable
from models.encoders.base import Encoder
from models.ops.span_score import COSINE, SpanScore
from models.text import units
from models.types import SpanBounds
from research.evaluation.corpus import read_corpus
from research.evaluation.queries import Query, gold_from_json
from research.evaluation.retrieval_metrics import Ranked, measure
from research.evaluation.searching import COLLECTION, index_and_search
from research.evaluation.span_retrieval import bm25_answers, span_of

CORPUS = "documents"
_TOP = 5


@dataclass(frozen=True, slots=True)
class SampleFigures:
    """Hit rates over the phrases with gold, and the overlap F1 of their first hits, in units.

    ``no_match_auc`` is the AUC of the best score, of phrases with a match against those without.
    """

    phrases: int
    top1: float
    top5: float
    f1: float
    bm25_top1: float
    no_match_auc: float


def evaluate_sample(
    folder: Path,
    encoder: Encoder,
    min_span: int | None = None,
    span_score: SpanScore = COSINE,
) -> SampleFigures:
    """Index the sample corpus into a temporary store, search all phrases by the span score, and count.

    Spans have ``min_span`` units or more; by default as many as nine phrases of ten have (see ``shortest_span``).
    """
    corpus = read_corpus(folder / CORPUS)
    phrases = read_phrases(folder)
    texts = [phrase.text for phrase in phrases]
    requests = [SearchRequest(COLLECTION, text=text, top_k=_TOP) for text in texts]
    bounds = SpanBounds(min_span or shortest_span(texts))
    answers = index_and_search(corpus.documents.values(), encoder, bounds, requests, span_score)
    with_gold = [phrase for phrase in phrases if phrase.gold]
    results = [
        Ranked.of([span_of(hit) for hit in hits]) for phrase, hits in zip(phrases, answers, strict=True) if phrase.gold
    ]
    figures = measure(corpus, with_gold, results)
    best = np.array([hits[0].score for hits in answers])
    has_match = np.array([bool(phrase.gold) for phrase in phrases])
    return SampleFigures(
        phrases=len(phrases),
        top1=figures.top1,
        top5=figures.top5,
        f1=figures.f1,
        bm25_top1=measure(corpus, with_gold, bm25_answers(corpus, corpus.parts(), with_gold)).part_top1,
        no_match_auc=auc(best[has_match], best[~has_match]),
    )


def shortest_span(phrases: Sequence[str]) -> int:
    """Number of units that nine phrases of ten have at least: a shorter span can hardly mean the same.

    The SLICE paper (section 3) takes its bounds from a sample of origin phrases, the longest span so that it covers
    nine of ten; this is the same for the shortest.

    >>> shortest_span(["one two three four"] * 9 + ["one"])
    4
    """
    return int(np.percentile([len(units.split(phrase)) for phrase in phrases], 10, method="higher"))


def read_phrases(folder: Path) -> list[Query]:
    """All phrases below a folder, from its files ``phrases*.ndjson``. What the corpus does not say has no gold."""
    lines = [line for path in sorted(folder.glob("phrases*.ndjson")) for line in path.read_text("utf-8").splitlines()]
    if not lines:
        raise SourceUnreadable(f"{folder} holds no phrases*.ndjson.", hint="Give the sample corpus with --samples.")
    return [_phrase(json.loads(line)) for line in lines]


def _phrase(value: dict[str, Any]) -> Query:
    return Query(str(value.get("id", "")), value["phrase"], gold_from_json(value["gold"]))


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    """Chance that a positive scores above a negative; ties count half.

    >>> auc(np.array([3.0, 2.0]), np.array([1.0, 2.0]))
    0.875
    """
    above = positive[:, None] > negative[None]
    equal = positive[:, None] == negative[None]
    return float((above + 0.5 * equal).mean())
