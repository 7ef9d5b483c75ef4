"""Facets: what K codebook vectors reconstruct, and scores of similarity, importance, coverage and direction.

Chang, Agrawal and McCallum (2021), "Extending Multi-Sense Word Embedding to Phrases and Sentences". A codebook has one
facet in every row, and words are rows as well.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64

from models.interruption import checked

PENALTY = 0.4  # the paper's lambda
SWEEPS = 50
ALPHA = 1e-3  # the share of a word that counts half; the paper has 1e-4
_SENTENCES_AT_ONCE = 64
_TINY = 1e-12

Codebook = Float[np.ndarray, "*rows _facets dim"]
Words = Float[np.ndarray, "*rows _words dim"]


# Any: arrays of numpy, or tensors of torch, which this file does not load.
def descend(gram: Any, products: Any, coefficients: Any, sweeps: int) -> Any:  # noqa: ANN401
    """Minimise ``M' G M / 2 - P' M`` with ``0 <= M <= 1`` by coordinate descent, starting from ``coefficients``.

    The problem is convex and separable by column. ``gram`` is ``[... facets facets]``, the others are
    ``[... facets words]``; all are arrays of numpy, or all are tensors of torch. ``coefficients`` is changed in place
    and returned.
    """
    for _ in range(sweeps):
        for row in range(gram.shape[-1]):
            own = gram[..., row, row, None] + _TINY
            slope = products[..., row, :] - (gram[..., row : row + 1, :] @ coefficients)[..., 0, :]
            coefficients[..., row, :] = (coefficients[..., row, :] + slope / own).clip(0, 1)
    return coefficients


def coefficients(
    codebook: Codebook, words: Words, penalty: float = PENALTY, sweeps: int = SWEEPS
) -> Float64[np.ndarray, "*rows _facets _words"]:
    """The coefficients by which facets reconstruct words best (eq. 1): between 0 and 1, with an L1 penalty.

    >>> coefficients(np.eye(2), np.array([[0.9, 0.1], [3.0, 0.0]])).round(3).tolist()
    [[0.7, 1.0], [0.0, 0.0]]
    """
    facets, points = codebook.astype(np.float64), words.astype(np.float64)
    products = facets @ points.swapaxes(-1, -2) - penalty / 2
    return np.asarray(descend(facets @ facets.swapaxes(-1, -2), products, np.zeros_like(products), sweeps))


def reconstruction_error(codebook: Codebook, words: Words, penalty: float = PENALTY) -> Float64[np.ndarray, "*rows"]:
    """The sum of squared distances between words and their reconstructions (``Er`` of eq. 1).

    >>> float(reconstruction_error(np.eye(2), np.eye(2)).round(3))
    0.08
    """
    rebuilt = coefficients(codebook, words, penalty).swapaxes(-1, -2) @ codebook
    return np.asarray(((rebuilt - words) ** 2).sum(axis=(-1, -2)))


def codebook_distance(first: Codebook, second: Codebook, penalty: float = PENALTY) -> Float64[np.ndarray, "*rows"]:
    """SC of eq. 5: how badly two sets of unit facets reconstruct each other. Its negative is a similarity.

    >>> near, far = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    >>> float(codebook_distance(near, near).round(3)), float(codebook_distance(near, far))
    (0.08, 2.0)
    """
    there = reconstruction_error(first, second, penalty)
    return np.asarray(there + reconstruction_error(second, first, penalty))


def importance(words: Words, codebook: Codebook) -> Float[np.ndarray, "*rows _words"]:
    """The importance of words (eq. 6): the sum of their positive cosines with the facets of their sentence.

    >>> importance(np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([[1.0, 0.0], [0.6, 0.8]])).tolist()
    [1.6, 0.0]
    """
    return np.maximum(words @ codebook.swapaxes(-1, -2), 0).sum(axis=-1)


def direction(
    first: Codebook, first_words: Words, second: Codebook, second_words: Words, penalty: float = PENALTY
) -> Float64[np.ndarray, "*rows"]:
    """Diff of eq. 8: above 0 where the first phrase is more general than the second.

    The facets of a phrase reconstruct the words of its hypernym better than the other way around.

    >>> animal, dog = np.array([[1.0, 0.0]]), np.array([[0.8, 0.6]])
    >>> bool(direction(animal, animal, np.concatenate([dog, animal]), dog) > 0)
    True
    """
    of_first = reconstruction_error(first, second_words, penalty)
    return np.asarray(of_first - reconstruction_error(second, first_words, penalty))


def best_cosines(
    facets: Float[np.ndarray, "sentences facets dim"], words: Float[np.ndarray, "words dim"]
) -> Float[np.ndarray, "sentences words"]:
    """The cosine of every word with the nearest facet of every sentence, a few sentences at a time to bound memory."""
    best = np.empty((len(facets), len(words)), np.float32)
    for begin in checked(range(0, len(facets), _SENTENCES_AT_ONCE)):
        some = slice(begin, begin + _SENTENCES_AT_ONCE)
        best[some] = (facets[some] @ words.T).max(axis=1)
    return best


def cover_cosines(
    cosines: Float[np.ndarray, "sentences words"],
    weights: Float[np.ndarray, " words"],
    count: int,
    costs: Float[np.ndarray, " sentences"] | None = None,
) -> Int64[np.ndarray, " chosen"]:
    """The sentences that cover the words of a text best (eq. 7), chosen greedily; ties go to the earlier one.

    A word is covered as well as its cosine (:func:`best_cosines`) with the nearest facet of a chosen sentence.
    ``costs`` divide the gain of a sentence, such as its length.

    >>> facets = np.array([[[0.0, 1.0]], [[1.0, 0.0]], [[0.8, 0.6]]])
    >>> cover_cosines(best_cosines(facets, np.eye(2)), np.ones(2), 2).tolist()
    [2, 0]
    """
    best = np.full(len(weights), -1.0)
    free = np.ones(len(cosines), bool)
    chosen: list[int] = []
    for _ in checked(range(min(count, len(cosines)))):
        gains = (np.maximum(cosines, best) - best) @ weights
        gains = gains if costs is None else gains / costs
        chosen.append(int(np.argmax(np.where(free, gains, -np.inf))))
        free[chosen[-1]] = False
        best = np.maximum(best, cosines[chosen[-1]])
    return np.array(chosen, np.int64)


def frequency_weights(shares: Float[np.ndarray, " words"], alpha: float = ALPHA) -> Float[np.ndarray, " words"]:
    """``alpha / (alpha + p)``: rare words count most (Arora, Liang and Ma, 2017).

    >>> frequency_weights(np.array([0.0, 1e-3])).tolist()
    [1.0, 0.5]
    """
    return alpha / (alpha + shares)
