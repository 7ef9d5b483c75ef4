"""Grades that no one gave: what readers of pairs say, brought to the scale of pairs that people graded."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Float32

from models.backbones import Backbone
from research.training.reading import alone
from research.training.sources import GradedPair

Reader: TypeAlias = Callable[[Sequence[tuple[str, str]]], Float32[np.ndarray, " pairs"]]


def cosines_of(encoder: Backbone) -> Reader:
    """The reader that compares what an encoder makes of both texts alone."""

    def read(pairs: Sequence[tuple[str, str]]) -> Float32[np.ndarray, " pairs"]:
        queries, paraphrases = (alone(encoder, side).numpy() for side in zip(*pairs, strict=True))
        return np.einsum("pd,pd->p", queries, paraphrases)

    return read


class Grader:
    """Readers whose weighted sum comes nearest to the grades people gave: each errs where others do not.

    ``correlations`` says how near: Pearson's of every reader, and of the sum, which is fitted to these very pairs.

    >>> people = [GradedPair("a", "b", 0.2), GradedPair("a", "c", 0.4), GradedPair("b", "c", 0.6)]
    >>> def says(pairs):
    ...     return np.array([ord(one) + ord(other) for one, other in pairs], np.float32)
    >>> [pair.score for pair in Grader([says], people).graded([("c", "c"), ("z", "z")])]
    [0.8, 1.0]
    """

    def __init__(self, readers: Sequence[Reader], people: Sequence[GradedPair]) -> None:
        self._readers = readers
        said = self._said([(pair.query, pair.paraphrase) for pair in people])
        gold = np.array([pair.score for pair in people])
        self._weights, *_ = np.linalg.lstsq(said, gold, rcond=None)
        columns = [*said.T[:-1], said @ self._weights]
        self.correlations = [float(np.corrcoef(column, gold)[0, 1]) for column in columns]

    def graded(self, pairs: Sequence[tuple[str, str]]) -> list[GradedPair]:
        """Pairs with their grades, from 0 to 1."""
        grades = (self._said(pairs) @ self._weights).clip(0, 1)
        return [
            GradedPair(query, paraphrase, round(float(grade), 4))
            for (query, paraphrase), grade in zip(pairs, grades, strict=True)
        ]

    def _said(self, pairs: Sequence[tuple[str, str]]) -> Float[np.ndarray, "pairs readers_and_one"]:
        return np.stack([*(read(pairs) for read in self._readers), np.ones(len(pairs))], axis=1)
