"""The weight of words beside meaning in mode hybrid: it grows with the length of the query.

A phrase of a few words names a topic, which the words of a sentence say little about. A query of thirty words is a text
of its own, and a sentence that shares most of them is a copy. ``python -m research.evaluation.hybrid_weights`` compares
weights; docs/adr/0017-words-in-segments.md has the figures.
"""

from dataclasses import dataclass
from math import log
from typing import Final, Self, TypeAlias

import numpy as np
from jaxtyping import Float

Shares: TypeAlias = Float[np.ndarray, " whole_spans"]

# The number of words of a query at which words count least, and most; the part's words count as much as the sentence's
# own, and not at all.
_FEW, _MANY = 6, 30
_QUESTION, _TEXT = 10, 30
_LEAST: Final = 0.01
_MOST: Final = 0.5


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of words beside meaning, and of the words of the part around beside the sentence's."""

    words: float
    of_part: float

    @classmethod
    def of(cls, length: int) -> Self:
        """The weights for a query of ``length`` words.

        >>> Weights.of(2), Weights.of(40)
        (Weights(words=0.01, of_part=0.5), Weights(words=0.5, of_part=0.0))
        """
        return cls(max(_LEAST, _MOST * _rise(length, _FEW, _MANY)), 0.5 * (1 - _rise(length, _QUESTION, _TEXT)))

    def shares(self, whole_spans: Shares, parts: Shares) -> Shares:
        """The shares of BM25 of whole spans together with the parts around them."""
        return (1 - self.of_part) * whole_spans + self.of_part * parts

    def scores(self, meanings: Float[np.ndarray, " whole_spans"], shares: Shares) -> Float[np.ndarray, " whole_spans"]:
        """The scores of whole spans by the scores of their meaning and their shares of BM25.

        >>> Weights(0.2, 0.5).scores(np.array([1.0, 0.5]), np.array([1.0, 0.0])).round(2).tolist()
        [1.0, 0.2]
        """
        return (1 - self.words) * meanings + self.words * (2 * shares - 1)


def _rise(length: int, low: int, high: int) -> float:
    """From 0 at the low number of words to 1 at the high one, by the logarithm."""
    return min(max(log(max(length, 1) / low) / log(high / low), 0.0), 1.0)
