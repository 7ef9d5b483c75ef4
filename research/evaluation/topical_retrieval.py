"""Retrieval by topic: turns of conversations asked for by their intent, by best span, by the whole and by both.

Vectors of all turns are computed once; every span of every turn is then scored by brute force.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from models.encoders.base import Encoder
from models.ops.similarity import normalize
from models.ops.span_score import SpanScore
from models.text.units import split
from models.types import SpanBounds, UnitVectors
from research.evaluation.bm25 import Bm25
from research.evaluation.setups import unit_vectors
from research.evaluation.significance import Gain, mean_gain
from research.evaluation.texts import encode_texts

_TOP = 10
DISCOUNT = 0.15
SPAN_SHARES = (0.7, 0.5, 0.2)
_BLOCK = 500  # turns encoded at a time, to bound memory besides unit vectors

BEST_SPAN, DISCOUNTED, WHOLE = "best span", "best span, discounted", "whole"

# Scores of all queries by all turns.
Scores = Float[np.ndarray, "queries turns"]


@dataclass(frozen=True, slots=True)
class Topics:
    """Texts, queries, which text is relevant to which query, and the topic of every query, which several may share."""

    texts: Sequence[str]
    queries: Sequence[str]
    relevant: Bool[np.ndarray, "queries turns"]
    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class TopicFigures:
    """Average precision and precision among the first ten, means over a topic's queries, by topic."""

    average_precisions: Float[np.ndarray, " topics"]
    precisions: Float[np.ndarray, " topics"]

    @property
    def average_precision(self) -> float:
        """The mean over topics."""
        return float(self.average_precisions.mean())

    @property
    def precision_at_10(self) -> float:
        """The mean over topics."""
        return float(self.precisions.mean())


def encoder_scores(encoder: Encoder, topics: Topics, bounds: SpanBounds, discount: float) -> dict[str, Scores]:
    """Scores of an encoder: best span, with and without the discount for short ones, the whole turn, and mixtures.

    >>> from models.encoders.hashing import HashingEncoder
    >>> topics = Topics(["a red car", "snow"], ["car"], np.array([[True, False]]), ["cars"])
    >>> scores = encoder_scores(HashingEncoder(), topics, SpanBounds(), 0.15)
    >>> scores["best span"].round(3)[0, 0].item(), list(scores)[2:]
    (1.0, ['whole', '0.7 span + 0.3 whole', '0.5 span + 0.5 whole', '0.2 span + 0.8 whole'])
    """
    queries = encode_texts(encoder, topics.queries).astype(np.float64)
    begins = range(0, len(topics.texts), _BLOCK)
    turns = [turn for begin in begins for turn in unit_vectors(encoder, topics.texts[begin : begin + _BLOCK])]
    query_units = np.array([len(split(query)) for query in topics.queries])
    added = SpanScore(discount).lengths(query_units, bounds.longest)
    best, discounted = best_span_scores(queries, turns, bounds, added)
    whole = queries @ normalize(np.stack([turn.sum(axis=0, dtype=np.float64) for turn in turns])).T
    mixed = {mixture(share): share * discounted + (1 - share) * whole for share in SPAN_SHARES}
    return {BEST_SPAN: best, DISCOUNTED: discounted, WHOLE: whole} | mixed


def mixture(share: float) -> str:
    """The name of a mixture.

    >>> mixture(0.7)
    '0.7 span + 0.3 whole'
    """
    return f"{share:g} span + {1 - share:.2g} whole"


def best_span_scores(
    queries: Float[np.ndarray, "queries dim"],
    turns: Sequence[UnitVectors],
    bounds: SpanBounds,
    added: Float[np.ndarray, "queries lengths"],
) -> tuple[Scores, Scores]:
    """The best cosine of every turn's spans for every query, and the best of cosine and what is added by length.

    A turn shorter than the shortest span has ``-inf``. Lengths of ``added`` begin with 0.

    >>> turns = [np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)]
    >>> best, less = best_span_scores(np.array([[1.0, 0.0]]), turns, SpanBounds(), np.full((1, 21), -0.5))
    >>> best.tolist(), less.tolist()
    ([[1.0]], [[0.5]])
    """
    counts = np.array([len(turn) for turn in turns])
    units = np.concatenate(turns).astype(np.float32)
    turn_of = np.repeat(np.arange(len(turns)), counts)
    units_left = np.repeat(np.cumsum(counts), counts) - np.arange(len(units))
    best, less = (np.full((len(turns), len(queries)), -np.inf) for _ in range(2))
    sums = np.zeros_like(units)
    for length in range(1, min(bounds.longest, int(counts.max())) + 1):
        sums = sums[: len(units) - length + 1] + units[length - 1 :]
        if length >= bounds.shortest:
            starts = np.flatnonzero(units_left[: len(sums)] >= length)
            cosines = normalize(sums[starts]).astype(np.float64) @ queries.T
            numbers, longest = _best_of_each(turn_of[starts], cosines)
            best[numbers] = np.maximum(best[numbers], longest)
            less[numbers] = np.maximum(less[numbers], longest + added[:, length])
    return best.T, less.T


def _best_of_each(
    turn_of: Int[np.ndarray, " spans"], cosines: Float[np.ndarray, "spans queries"]
) -> tuple[Int[np.ndarray, " turns"], Float[np.ndarray, "turns queries"]]:
    """The turns that have spans, which stand in order, and the best cosines of each."""
    numbers, begins = np.unique(turn_of, return_index=True)
    return numbers, np.maximum.reduceat(cosines, begins, axis=0)


def bm25_scores(topics: Topics) -> Scores:
    """BM25 of every turn for every query."""
    index = Bm25(topics.texts)
    return np.stack([index.scores(query) for query in topics.queries]).astype(np.float64)


def measure_topics(scores: Scores, topics: Topics) -> TopicFigures:
    """Average precision and precision at 10 of every query, then the mean over the queries of a topic."""
    ranked = zip(scores, topics.relevant, strict=True)
    figures = np.array([_figures(relevant[np.argsort(-row, kind="stable")]) for row, relevant in ranked])
    names = list(dict.fromkeys(topics.topics))
    of_topics = np.array(topics.topics)
    means = np.stack([figures[of_topics == name].mean(axis=0) for name in names])
    return TopicFigures(means[:, 0], means[:, 1])


def _figures(ranked: Bool[np.ndarray, " turns"]) -> tuple[float, float]:
    return average_precision(ranked), float(ranked[:_TOP].mean())


def average_precision(ranked: Bool[np.ndarray, " turns"]) -> float:
    """The mean, over relevant turns, of the precision down to each; 0 where none is relevant.

    >>> round(average_precision(np.array([True, False, True])), 3)   # of 1 and 2/3
    0.833
    """
    places = np.flatnonzero(ranked)
    return float((np.arange(1, len(places) + 1) / (places + 1)).mean()) if len(places) else 0.0


def gain(ours: TopicFigures, theirs: TopicFigures) -> Gain:
    """The gain in mean average precision, with a paired bootstrap over topics.

    >>> ours, theirs = (TopicFigures(np.full(20, value), np.zeros(20)) for value in (0.75, 0.5))
    >>> gain(ours, theirs)
    Gain(difference=0.25, lower=0.25, positive=1.0)
    """
    return mean_gain(ours.average_precisions, theirs.average_precisions)


def gains_over(figures: Mapping[str, TopicFigures], baselines: Sequence[str]) -> dict[str, dict[str, Gain]]:
    """For every baseline, what every other row gains over it."""
    return {
        baseline: {name: gain(row, figures[baseline]) for name, row in figures.items() if name != baseline}
        for baseline in baselines
    }
