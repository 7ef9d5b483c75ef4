"""The threshold of a phrase from few labels.

The probability that a pair of raw r matches is a logistic curve of r. Over phrases, its two parameters are normally
distributed: that prior is learnt from phrases with all labels known, and moves towards those that are labelled
together (a hierarchical model; Gelman et al., "Bayesian Data Analysis", chapter 5). The posterior is the normal
distribution around its mode (Laplace's method). The precision above a raw is the mean probability of the collection's
pairs above it. One phrase's labels give it a threshold, and move no score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from app.calibration.metrics import Share
from app.search.verification.stratified_sampling import BINS

# Labels of one phrase.
FEWEST = 5
# A precision may fall short of its target by so much, with the probability that _SURE leaves.
SLACK: Final = 0.05
_SURE: Final = 0.95
# The curve is of (raw - 0.75) / 0.1. Means and covariances over the 20 phrases of MultiDoGO's test and dev splits.
_CENTRE, _UNIT = 0.75, 0.1
_MEAN: Final = np.array([-1.9, 3.2])
_COVARIANCE: Final = np.array([[1.58, -0.12], [-0.12, 0.56]])
# The prior's mean counts as so many phrases.
_WEIGHT, _ROUNDS = 10.0, 5
_DRAWS, _SEED = 400, 13
_STEPS, _LONGEST = 60, 3.0

Values = Float[np.ndarray, " values"]
Parameters = Float[np.ndarray, " parameters"]
Square = Float[np.ndarray, "parameters parameters"]


@dataclass(frozen=True, slots=True)
class LabelledPhrase:
    """The labels of a phrase, and how many of its pairs in the collection are in every bin of raw."""

    raw: Values
    match: Bool[np.ndarray, " values"]
    counts: Int[np.ndarray, " bins"]


@dataclass(frozen=True, slots=True)
class Reached:
    """The lowest raw at which a precision is reached, the number of pairs from it on, and their precision."""

    raw: float
    found: int
    precision: Share


def thresholds_of(phrases: Mapping[str, LabelledPhrase], precision: float) -> dict[str, Reached | None]:
    """For every phrase, the lowest raw that is expected to reach the precision, and surely misses it by at most 0.05.

    >>> from app.search.verification.stratified_sampling import bins_of
    >>> raw = np.linspace(0.5, 1, 20)
    >>> counts = np.bincount(bins_of(np.linspace(0.2, 1, 1000)), minlength=BINS)
    >>> reached = thresholds_of({"late parcel": LabelledPhrase(raw, raw > 0.75, counts)}, precision=0.9)["late parcel"]
    >>> round(reached.raw, 2), reached.found, round(reached.precision.value, 2)
    (0.8, 246, 0.94)
    """
    mean = _shared_mean(list(phrases.values()))
    return {name: _reached(one, *_posterior(one, mean), precision) for name, one in phrases.items()}


def _shared_mean(phrases: Sequence[LabelledPhrase]) -> Parameters:
    """The prior's mean, moved towards the phrases."""
    mean = _MEAN
    for _ in range(_ROUNDS if len(phrases) > 1 else 0):
        modes = [_posterior(one, mean)[0] for one in phrases]
        mean = (_WEIGHT * _MEAN + np.sum(modes, axis=0)) / (_WEIGHT + len(modes))
    return mean


def _posterior(labelled: LabelledPhrase, mean: Parameters) -> tuple[Parameters, Square]:
    """The mode and the covariance of a phrase's parameters, by Newton's method with bounded steps."""
    features, prior = _features(labelled.raw), np.linalg.inv(_COVARIANCE)
    mode = mean
    for _ in range(_STEPS):
        chance = _logistic(features @ mode)
        gradient = features.T @ (chance - labelled.match) + prior @ (mode - mean)
        step = np.linalg.solve(_curvature(features, chance) + prior, gradient)
        mode = mode - step * min(1.0, _LONGEST / max(np.abs(step).max(), 1e-12))
    return mode, np.linalg.inv(_curvature(features, _logistic(features @ mode)) + prior)


def _reached(labelled: LabelledPhrase, mode: Parameters, covariance: Square, precision: float) -> Reached | None:
    bins = np.flatnonzero(labelled.counts)[::-1]
    draws = np.random.default_rng(_SEED).multivariate_normal(mode, covariance, _DRAWS)
    matches = _logistic(_features((bins + 0.5) / BINS) @ draws.T) * labelled.counts[bins, None]
    found = np.cumsum(labelled.counts[bins])
    shares = np.cumsum(matches, axis=0) / found[:, None]
    kept = (shares.mean(axis=1) >= precision) & (np.quantile(shares, 1 - _SURE, axis=1) >= precision - SLACK)
    if not kept.any():
        return None
    row = int(np.flatnonzero(kept)[-1])
    low, high = np.quantile(shares[row], [0.025, 0.975]).tolist()
    return Reached(float(bins[row]) / BINS, int(found[row]), Share(float(shares[row].mean()), low, high))


def _features(raw: Values) -> Float[np.ndarray, "values parameters"]:
    return np.stack([np.ones_like(raw), (raw - _CENTRE) / _UNIT], axis=1)


def _curvature(features: Float[np.ndarray, "values parameters"], chance: Values) -> Square:
    square: Square = (features.T * (chance * (1 - chance))) @ features
    return square


def _logistic(values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return 1 / (1 + np.exp(-values))
