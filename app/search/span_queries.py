"""Queries for spans, before and after they are encoded, of modes ``best_span`` and ``hybrid`` and of verification."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Int32

from indexer.arrays import SpanTerms
from models.ops.span_score import SpanScore
from models.types import QueryVectors

QueryVector: TypeAlias = Float32[np.ndarray, " dim"]


@dataclass(frozen=True, slots=True)
class SpanQuery:
    """A query for spans: its vector, the units of its text, 0 if unknown, its sentences, and the score of spans."""

    vector: QueryVector
    units: int
    sentences: int
    score: SpanScore


@dataclass(frozen=True, slots=True)
class TokenizedQuery:
    """The token ids of a query text, its units and sentences, and the score of spans."""

    ids: Int32[np.ndarray, " tokens"]
    units: int
    sentences: int
    score: SpanScore

    def encoded(self, vector: QueryVector) -> SpanQuery:
        """The query with its vector."""
        return SpanQuery(vector, self.units, self.sentences, self.score)


def vectors_of(queries: Sequence[SpanQuery]) -> QueryVectors:
    """The vectors of queries."""
    return np.stack([query.vector for query in queries])


def terms_of(queries: Sequence[SpanQuery]) -> SpanTerms:
    """The terms of queries that share a score."""
    counts = np.array([(query.units, query.sentences) for query in queries])
    return SpanTerms.of(queries[0].score, counts[:, 0], counts[:, 1])
