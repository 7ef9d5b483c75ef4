"""The more general one of two phrases: by their facets, and by how frequent their words are.

Facets alone (Diff of eq. 8) are right on two of three hypernyms, the frequency of words on nine of ten, and both
together on more: research/notes/facets.md has the figures.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Float

from spanseek_facets.model import FacetModel
from spanseek_facets.scores import direction
from spanseek_facets.word_vectors import split_words

Scores: TypeAlias = Float[np.ndarray, " pairs"]

# How much a difference in the logarithm of frequencies counts beside Diff; chosen on HypeNET's validation split.
FREQUENCY: Final = 0.03
_BLOCK: Final = 2_000  # pairs scored at a time, to bound memory
_RARER: Final = 0.25  # how much rarer words outside the vocabulary are than its rarest


def generality(model: FacetModel, first: Sequence[str], second: Sequence[str]) -> Scores:
    """Above 0 where the first phrase is more general than the second."""
    return diff_scores(model, first, second) + FREQUENCY * share_scores(model, first, second)


def share_scores(model: FacetModel, first: Sequence[str], second: Sequence[str]) -> Scores:
    """The surplus in frequency of the words of the first phrases: differences of mean logarithms."""
    return np.array([_mean_log(model, one) - _mean_log(model, other) for one, other in zip(first, second, strict=True)])


def diff_scores(model: FacetModel, general: Sequence[str], special: Sequence[str]) -> Scores:
    """Diff of pairs (eq. 8).

    A word outside the vocabulary counts as a unit vector that no facet reconstructs: it adds 1 to the error.
    """
    parts = [
        _diff_block(model, general[begin : begin + _BLOCK], special[begin : begin + _BLOCK])
        for begin in range(0, len(general), _BLOCK)
    ]
    return np.concatenate(parts)


def _diff_block(model: FacetModel, general: Sequence[str], special: Sequence[str]) -> Scores:
    """Diff of some pairs; those with equal numbers of known words are computed together."""
    words = model.words
    of_general, of_special = model.encode(general), model.encode(special)
    first, second = ([words.vectors[words.text_ids(text)] for text in texts] for texts in (general, special))
    unknown = [[len(split_words(text)) - len(words.text_ids(text)) for text in texts] for texts in (special, general)]
    scores = np.subtract(*np.array(unknown, np.float64))
    by_shape: dict[tuple[int, int], list[int]] = {}
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        by_shape.setdefault((len(one), len(other)), []).append(place)
    for places in by_shape.values():
        one, other = (np.stack([side[place] for place in places]) for side in (first, second))
        scores[places] += direction(of_general[places], one, of_special[places], other)
    return scores


def _mean_log(model: FacetModel, text: str) -> float:
    words, unknown = model.words, _RARER * float(model.words.shares.min())
    shares = [words.shares[words.places[word]] if word in words.places else unknown for word in split_words(text)]
    return float(np.log(np.maximum(shares or [unknown], 1e-12)).mean())
