"""Calibrations fitted to labels: an increasing map from raw to the labelled degree, scaled to 1.

Two methods are tried: isotonic regression, which is more flexible, and a logistic curve, which is smoother and needs
fewer labels. Cross-validation selects one; a difference within the standard error selects the curve.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from app.calibration.labels import LabelsRefused
from models.ops.calibrate import LEAST_RISE, Knots, isotonic, logistic, score_from_raw

Method: TypeAlias = Literal["isotonic", "logistic"]
Shares: TypeAlias = Float[np.ndarray, " labels"]

_FOLDS = 5
_SEED = 13
_DIGITS = 9
# Scores at which the logistic curve has its knots.
_CURVE = np.linspace(0.005, 0.995, 67)


@dataclass(frozen=True, slots=True)
class Fit:
    """The selected map. ``errors`` holds the cross-validated mean squared error of each method, ``unseen`` the
    cross-validated scores of the selected one.
    """

    method: Method
    knots: Knots
    errors: Mapping[Method, float]
    unseen: Shares


def fit(raw: Shares, degree: Shares, phrases: Sequence[str]) -> Fit:
    """The better of the two maps, by cross-validation over phrases (over labels if there are fewer than 5 phrases).

    Degrees are from 0 to 1. Raises ``LabelsRefused`` if they do not increase with raw.
    """
    if _curve(raw, degree)[0] <= 0:
        raise LabelsRefused(
            "Pairs labelled as matches are not more similar to the encoder than others.",
            hint="Check the labels; if they are correct, this encoder cannot separate them.",
            field="labels",
        )
    unseen = {name: _unseen(make, raw, degree, phrases) for name, make in _METHODS.items()}
    squares = {name: (scores - degree) ** 2 for name, scores in unseen.items()}
    method = _better(squares["isotonic"], squares["logistic"])
    errors = {name: round(float(values.mean()), 6) for name, values in squares.items()}
    return Fit(method, _METHODS[method](raw, degree), errors, unseen[method])


def isotonic_knots(raw: Shares, degree: Shares) -> Knots:
    """The least-squares increasing steps, joined by straight lines through their centres.

    A step alone would give all its hits one score. Through the centres (centred isotonic regression, Oron and
    Flournoy, 2017) the map increases everywhere; at the mean raw of a step's labels it has the step's value.

    >>> isotonic_knots(np.array([0.5, 0.7, 0.8, 0.9]), np.array([0.0, 0.0, 1.0, 1.0])).round(2).tolist()
    [[0.0, 0.0], [0.6, 0.25], [0.85, 0.75], [1.0, 1.0]]
    """
    # Merge steps that differ only by rounding errors.
    fitted = isotonic(raw, _smoothed(degree)).round(_DIGITS)
    steps, step, labels = np.unique(fitted, return_inverse=True, return_counts=True)
    centres = np.bincount(step, weights=raw) / labels
    return _rising(np.stack([centres, steps], axis=1))


def logistic_knots(raw: Shares, degree: Shares) -> Knots:
    """The maximum-likelihood logistic curve, piecewise linear.

    >>> knots = logistic_knots(np.array([0.5, 0.6, 0.8, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]))
    >>> float(score_from_raw(np.array([0.7]), knots)[0].round(2))
    0.5
    """
    slope, intercept = _curve(raw, degree)
    # In a fold where degree decreases with raw there is no curve: all its knots lie outside [0, 1].
    return _rising(np.stack([(np.log(_CURVE / (1 - _CURVE)) - intercept) / max(slope, 1e-6), _CURVE], axis=1))


_METHODS: Mapping[Method, Callable[[Shares, Shares], Knots]] = {
    "isotonic": isotonic_knots,
    "logistic": logistic_knots,
}


def _better(isotonic: Shares, logistic: Shares) -> Method:
    """The curve, unless the other map is better by more than the standard error of the difference.

    >>> _better(np.array([0.0, 0.1, 0.0]), np.array([0.1, 0.0, 0.1])), _better(np.zeros(3), np.array([0.1, 0.1, 0.3]))
    ('logistic', 'isotonic')
    """
    gained = logistic - isotonic
    return "isotonic" if gained.mean() > gained.std() / np.sqrt(len(gained)) else "logistic"


def _curve(raw: Shares, degree: Shares) -> tuple[float, float]:
    """Slope and intercept, on raw."""
    mean, spread = float(raw.mean()), max(float(raw.std()), 1e-9)
    slope, intercept = logistic((raw - mean) / spread, _smoothed(degree))
    return slope / spread, intercept - slope / spread * mean


def _smoothed(degree: Shares) -> Shares:
    """Degrees smoothed away from 0 and 1 (Platt, 1999), because few labels do not prove certainty.

    >>> _smoothed(np.array([0.0, 0.0, 1.0, 1.0])).tolist()
    [0.25, 0.25, 0.75, 0.75]
    """
    matches = degree.sum()
    highest, lowest = (matches + 1) / (matches + 2), 1 / (len(degree) - matches + 2)
    return lowest + degree * (highest - lowest)


def _unseen(make: Callable[[Shares, Shares], Knots], raw: Shares, degree: Shares, phrases: Sequence[str]) -> Shares:
    """The cross-validated score of every label; folds leave out phrases if there are enough, else labels."""
    groups = phrases if len(set(phrases)) >= _FOLDS else range(len(raw))
    scores = np.empty(len(raw))
    for left_out in _folds(np.unique(groups, return_inverse=True)[1]):
        seen = np.setdiff1d(np.arange(len(raw)), left_out)
        scores[left_out] = score_from_raw(raw[left_out], make(raw[seen], degree[seen]))
    return scores


def _folds(groups: Int[np.ndarray, " labels"]) -> Iterator[Int[np.ndarray, " _left_out"]]:
    """The labels that each fold leaves out: whole groups, drawn with a fixed seed."""
    drawn = np.random.RandomState(_SEED).permutation(groups.max() + 1)
    return (np.flatnonzero(np.isin(groups, part)) for part in np.array_split(drawn, _FOLDS))


def _rising(points: Float[np.ndarray, "points 2"]) -> Knots:
    """Points, with both corners, that form an increasing map: steps smaller than ``LEAST_RISE`` are left out."""
    knots = [np.zeros(2)]
    for point in points:
        if (point - knots[-1]).min() >= LEAST_RISE and (1 - point).min() >= LEAST_RISE:
            knots.append(point)
    return np.array([*knots, np.ones(2)])
