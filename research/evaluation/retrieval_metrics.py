"""Metrics of ranked spans, beside gold spans.

Data sets mark whole sentences and clauses, often longer than any span that is searched, or single names, shorter than
any. So three things are counted:

- A hit is *right* if it overlaps at least half of a gold span's units and is at most twice as long.
- A hit is at the *right place* if it shares at least half of the units of the shorter one of the two: it lies in a long
  gold span, or around a short one.
- A hit is in the *right part* if the part it stands in (a turn, a line of a contract, a paragraph) holds some of a gold
  span.

Documents are ranked, too, by their best hit. A document is *relevant* if it holds a gold span.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from statistics import fmean
from typing import Self

from models.types import SpanBounds, UnitSpan
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.scoring import at_same_place, is_right, overlap_f1, shared_units

# How many hits of a query count, and how many documents.
TOP = 10
TOP_DOCUMENTS = 1000


@dataclass(frozen=True, slots=True)
class Ranked:
    """The results of one query: its best spans, and the documents by their best spans, both best first."""

    spans: Sequence[DocumentSpan]
    documents: Sequence[str]

    @classmethod
    def of(cls, spans: Sequence[DocumentSpan]) -> Self:
        """The results of a ranking of spans that holds those of all documents.

        >>> from models.types import CharSpan
        >>> Ranked.of([DocumentSpan(id, CharSpan(0, 1)) for id in ("b", "a", "b")]).documents
        ('b', 'a')
        """
        documents = dict.fromkeys(span.document_id for span in spans)
        return cls(spans[:TOP], tuple(documents)[:TOP_DOCUMENTS])


@dataclass(frozen=True, slots=True)
class RetrievalFigures:
    """Means over queries, all from 0 to 1.

    ``top1``, ``top5``, ``top10``: a right hit is among the first so many. ``mrr``: 1 / place of the first right hit, 0
    where the first ten have none. ``f1``: overlap, in units, of the first hit with the gold span it agrees with best.
    ``place_top1``, ``place_top10``: a hit at the right place is among the first so many. ``part_top1``: the first hit
    is in the right part. ``average_precision``: of the documents by their best hit, see :func:`average_precision`.
    ``precision_at_10``: the share of relevant documents among ten, also where fewer were found.
    """

    top1: float
    top5: float
    top10: float
    mrr: float
    f1: float
    place_top1: float
    place_top10: float
    part_top1: float
    average_precision: float
    precision_at_10: float


def measure(corpus: Corpus, queries: Sequence[Query], results: Sequence[Ranked]) -> RetrievalFigures:
    """The figures of the results of all queries."""
    pairs = [(query.gold, ranked.spans[:TOP]) for query, ranked in zip(queries, results, strict=True)]
    documents = [
        ({gold.document_id for gold in query.gold}, ranked.documents)
        for query, ranked in zip(queries, results, strict=True)
    ]
    right = [first_place(is_hit(corpus, hit, gold, is_right) for hit in answer) for gold, answer in pairs]
    place = [first_place(is_hit(corpus, hit, gold, at_same_place) for hit in answer) for gold, answer in pairs]
    return RetrievalFigures(
        top1=share_within(right, 1),
        top5=share_within(right, 5),
        top10=share_within(right, 10),
        mrr=fmean(1 / first for first in right),
        f1=fmean(first_f1(corpus, answer, gold) for gold, answer in pairs),
        place_top1=share_within(place, 1),
        place_top10=share_within(place, 10),
        part_top1=fmean(any(in_right_part(corpus, hit, gold) for hit in answer[:1]) for gold, answer in pairs),
        average_precision=fmean(average_precision(ranking, relevant) for relevant, ranking in documents),
        precision_at_10=fmean(precision_at(10, ranking, relevant) for relevant, ranking in documents),
    )


def average_precision(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """The mean, over relevant documents, of the precision down to each; 0 for those that are not ranked.

    >>> average_precision(["a", "x", "b"], {"a", "b", "missing"}) == (1 / 1 + 2 / 3 + 0) / 3
    True
    """
    hits = [id in relevant for id in ranking]
    precisions = (count / place for place, count in enumerate(accumulate(hits), 1))
    return sum(precision for precision, hit in zip(precisions, hits, strict=True) if hit) / len(relevant)


def precision_at(places: int, ranking: Sequence[str], relevant: Collection[str]) -> float:
    """The share of relevant documents among the first ones.

    >>> precision_at(10, ["a", "x", "b"], {"a", "b"})
    0.2
    """
    return sum(id in relevant for id in ranking[:places]) / places


def first_place(truths: Iterable[bool]) -> float:
    """The place, from 1, of the first truth; infinity where there is none.

    >>> first_place([False, True, True]), first_place([])
    (2, inf)
    """
    return next((place for place, truth in enumerate(truths, 1) if truth), inf)


def share_within(places: Sequence[float], most: int) -> float:
    """The share of places that are at most ``most``.

    >>> share_within([1, 3, inf, 2], 2)
    0.5
    """
    return fmean(place <= most for place in places)


def is_hit(
    corpus: Corpus, hit: DocumentSpan, gold: Iterable[DocumentSpan], rule: Callable[[UnitSpan, UnitSpan], bool]
) -> bool:
    """True if a span satisfies a rule with any of the gold spans of its document."""
    span = corpus.units(hit)
    return any(rule(span, corpus.units(gold_span)) for gold_span in _same_document(hit, gold))


def in_right_part(corpus: Corpus, hit: DocumentSpan, gold: Iterable[DocumentSpan]) -> bool:
    """True if a span stands in a part that holds a unit of any of the gold spans."""
    part = corpus.units(corpus.part(hit))
    return any(shared_units(part, corpus.units(gold_span)) for gold_span in _same_document(hit, gold))


def first_f1(corpus: Corpus, answer: Sequence[DocumentSpan], gold: Sequence[DocumentSpan]) -> float:
    """The overlap F1 of the first span with the gold span it agrees with best; 0 where nothing was found."""
    agreements = (
        overlap_f1(corpus.units(hit), corpus.units(gold_span))
        for hit in answer[:1]
        for gold_span in _same_document(hit, gold)
    )
    return max(agreements, default=0.0)


def _same_document(hit: DocumentSpan, gold: Iterable[DocumentSpan]) -> Iterator[DocumentSpan]:
    return (gold_span for gold_span in gold if gold_span.document_id == hit.document_id)


def reachable(corpus: Corpus, queries: Sequence[Query], bounds: SpanBounds) -> float:
    """The share of queries with a gold span of such a length that a span within the bounds can be right for it."""
    return fmean(
        any(bounds.shortest <= 2 * len(corpus.units(gold)) <= 4 * bounds.longest for gold in query.gold)
        for query in queries
    )
