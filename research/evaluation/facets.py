"""Facets on sentences: Table 2 of the paper, SC and the scores of words with and without importance weights."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int32
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.stats import pearsonr

from models.encoders.base import Encoder
from models.ops.similarity import normalize
from research.evaluation.significance import compare
from research.evaluation.sts import SentencePair, cosines
from spanseek_facets.model import FacetModel
from spanseek_facets.scores import ALPHA, codebook_distance, frequency_weights, importance
from spanseek_facets.word_vectors import WordVectors

Scores: TypeAlias = Float[np.ndarray, " pairs"]
Ids: TypeAlias = Int32[np.ndarray, " _words"]
Weights: TypeAlias = Float[np.ndarray, " _words"]
Weighting: TypeAlias = Sequence[Weights]  # of the words of every text
Figures: TypeAlias = dict[str, dict[str, dict[str, float]]]

_FARTHEST = 2.0  # the distance of opposite unit vectors: that of a text without known words


def evaluate_sentence_facets(
    pairs: Sequence[SentencePair],
    words: WordVectors,
    models: Mapping[str, FacetModel],
    backbone: Encoder,
    alpha: float = ALPHA,
) -> Figures:
    """Pearson's r x 100 by score and by weighting, over all pairs and over those graded below the median (``low``).

    ``cosine`` is that of the backbone, which facets read, with the SC of every model beside it. The weighting ``words``
    is that without importance; ``alpha`` is that of the frequencies of words. SIF takes its common direction from the
    evaluated sentences. ``gain`` is what a row has over the first one of its score, ``gain_lower`` its one-sided 95 %
    lower bound by a paired bootstrap over pairs.
    """
    grades = np.array([pair.grade for pair in pairs])
    low = grades < np.median(grades)
    ids = [words.text_ids(text) for pair in pairs for text in (pair.first, pair.second)]
    codebooks = {name: model.encode(_texts(pairs)) for name, model in models.items()}
    by_facets = {name: _sc(rows) for name, rows in codebooks.items()}
    figures: Figures = {
        "cosine": _rows({"backbone": cosines(backbone, pairs), **by_facets}, grades, low),
        "sc": _rows(by_facets, grades, low),
    }
    plain: Mapping[str, Weighting] = {"words": [np.ones(len(row)) for row in ids]}
    by_importance: dict[str, Weighting] = {
        name: [importance(words.vectors[row], book) for row, book in zip(ids, rows, strict=True)]
        for name, rows in codebooks.items()
    }
    for score, measure in word_scores(alpha).items():
        weightings = {**plain, **by_importance}.items()
        figures[score] = _rows({name: measure(words, ids, weights) for name, weights in weightings}, grades, low)
    return figures


def _texts(pairs: Sequence[SentencePair]) -> list[str]:
    return [text for pair in pairs for text in (pair.first, pair.second)]


def _sc(codebooks: Float[np.ndarray, "texts facets dim"]) -> Scores:
    return -codebook_distance(codebooks[::2], codebooks[1::2])


def _rows(scores: Mapping[str, Scores], grades: Scores, low: np.ndarray) -> dict[str, dict[str, float]]:
    first, *others = scores
    rows = {name: _figures(of_row, grades, low) for name, of_row in scores.items()}
    for name in others:
        gain = compare(scores[name], scores[first], grades)
        rows[name] |= {"gain": round(100 * gain.difference, 2), "gain_lower": round(100 * gain.bootstrap_lower, 2)}
    return rows


def _figures(scores: Scores, grades: Scores, low: np.ndarray) -> dict[str, float]:
    """Pearson's r x 100 over all pairs and over those of low grades."""
    rows = {"all": np.ones(len(low), bool), "low": low}
    return {name: round(100 * float(pearsonr(scores[some], grades[some]).statistic), 2) for name, some in rows.items()}


def means(
    words: WordVectors, ids: Sequence[Ids], weighting: Weighting, alpha: float | None
) -> Float[np.ndarray, "texts dim"]:
    """The weighted mean of the words of every text, frequent ones less by ``alpha``; 0 where nothing has weight."""
    vectors = np.zeros((len(ids), words.dim))
    for place, (row, given) in enumerate(zip(ids, weighting, strict=True)):
        weights = given if alpha is None else given * frequency_weights(words.shares[row], alpha)
        vectors[place] = weights @ words.vectors[row] / max(weights.sum(), 1e-12)
    return vectors


def average(words: WordVectors, ids: Sequence[Ids], weighting: Weighting, alpha: float | None) -> Scores:
    """The cosine of the weighted means (Avg, and Prob_avg where words also count by their frequency)."""
    return _cosines(means(words, ids, weighting, alpha))


def sif(words: WordVectors, ids: Sequence[Ids], weighting: Weighting, alpha: float = ALPHA) -> Scores:
    """Prob_avg less the common direction of all sentences (Arora, Liang and Ma, 2017)."""
    return _cosines(remove_common_direction(means(words, ids, weighting, alpha)))


def transport(words: WordVectors, ids: Sequence[Ids], weighting: Weighting, alpha: float | None) -> Scores:
    """The negative word mover's distance, with weights as masses (WMD, and Prob_WMD by frequency)."""
    scores = np.zeros(len(ids) // 2)
    for place in range(len(scores)):
        (first, first_masses), (second, second_masses) = (
            _masses(words, ids[text], weighting[text], alpha) for text in (2 * place, 2 * place + 1)
        )
        if not len(first) or not len(second):
            scores[place] = -_FARTHEST
            continue
        costs = np.sqrt(np.maximum(2 - 2 * words.vectors[first] @ words.vectors[second].T, 0))
        scores[place] = -earth_mover(costs, first_masses, second_masses)
    return scores


def earth_mover(
    costs: Float[np.ndarray, "first second"],
    first: Float[np.ndarray, " first"],
    second: Float[np.ndarray, " second"],
) -> float:
    """The least cost of moving the masses ``first`` to ``second``; both add up to 1. Exact, by linear programming.

    >>> earth_mover(np.array([[0.0, 1.0]]), np.array([1.0]), np.array([0.25, 0.75]))
    0.75
    """
    rows, columns = costs.shape
    places = np.arange(rows * columns)
    constraints = coo_array(
        (np.ones(2 * len(places)), (np.r_[places // columns, rows + places % columns], np.r_[places, places])),
        shape=(rows + columns, len(places)),
    )
    # One equation follows from the others: left out, rounding cannot make them contradict each other.
    found = linprog(costs.ravel(), A_eq=constraints.tocsr()[:-1], b_eq=np.r_[first, second[:-1]], method="highs")
    return float(found.fun)


def _masses(words: WordVectors, ids: Ids, weights: Weights, alpha: float | None) -> tuple[Ids, Weights]:
    """The different words of a text and their shares of its weight; all alike where none has weight."""
    different, place = np.unique(ids, return_inverse=True)
    given = weights if alpha is None else weights * frequency_weights(words.shares[ids], alpha)
    masses = np.bincount(place, given, minlength=len(different)).astype(np.float64)
    masses = masses if masses.sum() > 0 else np.ones(len(different))
    return different, masses / masses.sum() if len(different) else masses


def _cosines(vectors: Float[np.ndarray, "texts dim"]) -> Scores:
    unit = normalize(vectors)
    return np.einsum("pd,pd->p", unit[::2], unit[1::2])


def word_scores(alpha: float) -> dict[str, Callable[[WordVectors, Sequence[Ids], Weighting], Scores]]:
    """The scores of weighted words, by name."""
    return {
        "avg": partial(average, alpha=None),
        "prob_avg": partial(average, alpha=alpha),
        "sif": partial(sif, alpha=alpha),
        "wmd": partial(transport, alpha=None),
        "prob_wmd": partial(transport, alpha=alpha),
    }


def remove_common_direction(vectors: Float[np.ndarray, "texts dim"]) -> Float[np.ndarray, "texts dim"]:
    """Vectors less their first principal direction, as SIF has it.

    >>> remove_common_direction(np.array([[3.0, 0.0], [4.0, 0.0]])).round(6).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    common = axes[:, -1:]
    return vectors - (vectors @ common) @ common.T
