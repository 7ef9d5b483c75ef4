"""Parameters of the span score, by coordinate search on pairs that people graded, one text of each set into a context.

Parameters are good if the score of a context's best span follows the grades (Pearson's correlation), and if a search
of many contexts for a paraphrase finds the paraphrase (overlap F1 of the best span, in units).
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from indexer.arrays import crosses
from models.encoders.base import Encoder
from models.ops.span_score import COSINE, SpanScore
from models.ops.spans import enumerate_spans, span_cosines
from models.text import units
from models.text.borders import border_codes, end_strengths, start_strengths
from models.types import SpanBounds, UnitSpan, UnitVectors
from research.evaluation.scoring import overlap_f1
from research.evaluation.setups import unit_vectors
from research.evaluation.texts import encode_texts
from research.training.default_calibration import GradedSpan, graded_spans
from research.training.texts import Texts

# From this degree on a pair is a paraphrase.
PARAPHRASE = 0.8
# Contexts that are searched for a paraphrase.
POOL = 48
DISCOUNTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
COSTS = (0.0, -0.01, -0.015, -0.02, -0.03, -0.04, -0.05, -0.08)
CROSSINGS = (0.0, -0.02, -0.05, -0.1, -0.15, -0.2)


@dataclass(frozen=True, slots=True)
class Context:
    """The units of a text and its spans, and the span of the phrase that was set into it."""

    vectors: UnitVectors
    spans: Int[np.ndarray, "spans 2"]
    starts: Int[np.ndarray, " spans"]
    ends: Int[np.ndarray, " spans"]
    crossed: Bool[np.ndarray, " spans"]
    phrase: UnitSpan
    query: Float32[np.ndarray, " dim"]
    query_units: int
    degree: float


@dataclass(frozen=True, slots=True)
class Search:
    """All spans of one context or of several for one query: what the span score is made of."""

    cosines: Float[np.ndarray, " spans"]
    lengths: Int[np.ndarray, " spans"]
    starts: Int[np.ndarray, " spans"]
    ends: Int[np.ndarray, " spans"]
    crossed: Bool[np.ndarray, " spans"]
    overlaps: Float[np.ndarray, " spans"]
    query_units: int

    @classmethod
    def of(cls, query: Context, contexts: Sequence[Context]) -> "Search":
        """The spans of contexts, of which that of the query is the first."""
        others = sum(len(context.spans) for context in contexts[1:])
        own = [overlap_f1(UnitSpan(*span), query.phrase) for span in contexts[0].spans.tolist()]
        return cls(
            np.concatenate([span_cosines(query.query, each.vectors, each.spans) for each in contexts]),
            np.concatenate([each.spans[:, 1] - each.spans[:, 0] for each in contexts]),
            np.concatenate([each.starts for each in contexts]),
            np.concatenate([each.ends for each in contexts]),
            np.concatenate([each.crossed for each in contexts]),
            np.concatenate([own, np.zeros(others)]),
            query.query_units,
        )

    def best(self, score: SpanScore) -> tuple[float, float]:
        """The best span score, and the overlap of its span with the phrase."""
        of_lengths = score.lengths(np.array([self.query_units]), int(self.lengths.max()))[0]
        borders = np.array(score.start)[self.starts] + np.array(score.end)[self.ends]
        scores = self.cosines + of_lengths[self.lengths] + borders + score.crossing * self.crossed
        best = int(scores.argmax())
        return float(scores[best]), float(self.overlaps[best])


@dataclass(frozen=True, slots=True)
class Fitness:
    """Fitness of parameters: Pearson's correlation with the grades, and the F1 of searches for paraphrases."""

    pearson: float
    f1: float

    @property
    def total(self) -> float:
        """Sum that learning maximises."""
        return self.pearson + self.f1


class Grades:
    """Graded pairs, searched once; every span score is then a matter of milliseconds."""

    def __init__(self, contexts: Sequence[Context], seed: int) -> None:
        rng = random.Random(f"{seed}/pools")  # noqa: S311  sampling, not secrets
        self._degrees = [context.degree for context in contexts]
        self._alone = [Search.of(context, [context]) for context in contexts]
        self._pools = [
            Search.of(context, [context, *rng.sample(contexts, min(POOL, len(contexts)) - 1)])
            for context in contexts
            if context.degree >= PARAPHRASE
        ]

    def fitness(self, score: SpanScore) -> Fitness:
        """Return the fitness of a span score."""
        bests = [search.best(score)[0] for search in self._alone]
        overlaps = [search.best(score)[1] for search in self._pools]
        return Fitness(float(np.corrcoef(bests, self._degrees)[0, 1]), float(np.mean(overlaps)))


def read_contexts(encoder: Encoder, texts: Texts, pairs: int, seed: int, bounds: SpanBounds) -> list[Context]:
    """So many graded pairs at most, one text of each the query, the other in a context."""
    spans = graded_spans(texts, bounds, seed)
    random.Random(f"{seed}/span-score").shuffle(spans)  # noqa: S311  sampling, not secrets
    spans = spans[:pairs]
    queries = encode_texts(encoder, [span.query for span in spans])
    vectors = unit_vectors(encoder, [span.sample.text for span in spans])
    return [_context(*each, bounds) for each in zip(spans, queries, vectors, strict=True)]


def _context(span: GradedSpan, query: Float32[np.ndarray, " dim"], vectors: UnitVectors, bounds: SpanBounds) -> Context:
    text, phrase = span.sample.text, span.sample.phrase
    characters = units.split(text)
    borders = border_codes(text, characters)
    within = enumerate_spans(len(characters), bounds)
    starts, ends = within.T
    return Context(
        vectors,
        within,
        start_strengths(borders)[starts],
        end_strengths(np.append(borders, borders[:1]))[ends],
        crosses(borders, starts, ends),
        UnitSpan(
            int(np.searchsorted(characters[:, 1], phrase.start, side="right")),
            int(np.searchsorted(characters[:, 0], phrase.end, side="left")),
        ),
        query,
        len(units.split(span.query)),
        span.degree,
    )


def learn_span_score(grades: Grades, discount: float | None = None, crossing: float | None = None) -> SpanScore:
    """Coordinate search from the cosine: each parameter in turn takes its best value, until none changes.

    A ``discount`` or ``crossing`` that is given is not learned.
    """
    best = replace(COSINE, discount=discount or 0.0, crossing=crossing or 0.0)
    steps = [_borders]
    steps += [_discounts] if discount is None else []
    steps += [_crossings] if crossing is None else []
    fitness = grades.fitness(best).total
    while True:
        before = best
        for neighbours in steps:
            for candidate in neighbours(best):
                if (value := grades.fitness(candidate).total) > fitness:
                    best, fitness = candidate, value
        if best == before:
            return best


def _discounts(score: SpanScore) -> Iterator[SpanScore]:
    return (replace(score, discount=value) for value in DISCOUNTS)


def _borders(score: SpanScore) -> Iterator[SpanScore]:
    """Yield the candidates for the costs of starts and ends where no border is, and at that of a clause."""
    for none, clause in product(COSTS, COSTS):
        if none <= clause:
            costs = (none, clause, 0.0, 0.0, 0.0, 0.0)
            yield replace(score, start=costs, end=costs)


def _crossings(score: SpanScore) -> Iterator[SpanScore]:
    return (replace(score, crossing=value) for value in CROSSINGS)
