"""Calibrations fitted to labels: an increasing map from raw to the labelled degree, scaled to 1.

Two methods are tried: isotonic regression, which is more flexible, and a logistic curve, which is smoother and needs
fewer labels. Cross-validation selects one; a difference within the standard error selects the curve.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from app.calibration.labels import LabelsRefused
from models.ops.calibrate import LEAST_RISE, Knots, score_from_raw

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
    fitted = IsotonicRegression(y_min=0, y_max=1).fit_transform(raw, _smoothed(degree))
    # Merge steps that differ only by rounding errors.
    steps, step, labels = np.unique(fitted.round(_DIGITS), return_inverse=True, return_counts=True)
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
    """Slope and intercept, on raw. A label is a match with weight degree, and no match with weight 1 - degree."""
    mean, spread = raw.mean(), max(raw.std(), 1e-9)
    x = np.tile((raw - mean) / spread, 2)[:, None]
    shares = _smoothed(degree)
    weights, classes = np.concatenate([shares, 1 - shares]), np.repeat([1, 0], len(raw))
    model = LogisticRegression(C=1e6, max_iter=1000).fit(x, classes, sample_weight=weights)
    slope = float(model.coef_[0, 0]) / spread
    return slope, float(model.intercept_[0]) - slope * mean


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
    folds = GroupKFold(_FOLDS, shuffle=True, random_state=_SEED)
    scores = np.empty(len(raw))
    for seen, left_out in folds.split(raw, degree, groups):
        scores[left_out] = score_from_raw(raw[left_out], make(raw[seen], degree[seen]))
    return scores


def _rising(points: Float[np.ndarray, "points 2"]) -> Knots:
    """Points, with both corners, that form an increasing map: steps smaller than ``LEAST_RISE`` are left out."""
    knots = [np.zeros(2)]
    for point in points:
        if (point - knots[-1]).min() >= LEAST_RISE and (1 - point).min() >= LEAST_RISE:
            knots.append(point)
    return np.array([*knots, np.ones(2)])
