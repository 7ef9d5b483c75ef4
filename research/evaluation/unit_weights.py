"""Weights of the units of a query, made from weights of its words.

Units and words are split by different rules: a unit may hold several words ("Can't"), or none (a comma), and a word
may run over several units (letters of scripts without spaces). Characters join the two.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Float64, Int32

from models.types import CharSpans
from spanseek_facets.word_vectors import WordVectors, word_spans

UnitWeights: TypeAlias = Float64[np.ndarray, " units"]
Weigh: TypeAlias = Callable[[Int32[np.ndarray, " known"]], Float[np.ndarray, " known"]]

_TINY = 1e-9


def unit_weights(words: WordVectors, text: str, units: CharSpans, weigh: Weigh) -> UnitWeights:
    """The mean weight of the words that a unit touches; the mean over these units is 1.

    Units without a word that the vocabulary has weigh 1, and all do if every weight is 0. ``units`` do not overlap and
    are in the order of the text; ``weigh`` gives weights of 0 or more for numbers of words.

    >>> words = WordVectors(("can", "pay"), np.eye(2, dtype=np.float32), np.ones(2) / 2)
    >>> units = np.array([[0, 5], [6, 9], [10, 11]])
    >>> unit_weights(words, "Can't pay €", units, lambda ids: ids + 1.0).round(3).tolist()
    [0.667, 1.333, 1.0]
    """
    names, spans = word_spans(text)
    known = np.array([name in words.places for name in names], bool)
    weights = np.ones(len(units))
    if not known.any():
        return weights
    of_words, (starts, ends) = weigh(words.ids(names)), spans[known].T
    first, last = np.searchsorted(ends, units[:, 0], side="right"), np.searchsorted(starts, units[:, 1], side="left")
    has = last > first
    sums = np.append(0, np.cumsum(of_words, dtype=np.float64))
    means = ((sums[last] - sums[first])[has] / (last - first)[has]).clip(min=0)
    if len(means) and means.mean() > _TINY:
        weights[has] = means / means.mean()
    return weights
