"""Calibrations: increasing, piecewise linear maps from raw to score, and their inverses.

A map is given by its knots, pairs of raw and score from (0, 0) to (1, 1) that increase in both. So it never changes an
order, and every threshold on either scale has exactly one on the other.
"""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float

Knots: TypeAlias = Float[np.ndarray, "knots 2"]
Values: TypeAlias = Float[np.ndarray, " values"]

# The least rise between neighbouring knots, on both axes, so that rounding errors stay small in both directions.
LEAST_RISE = 1e-6
# An upper bound on the rounding error of a score.
_ROUNDING = 1e-12

# The map of a collection without a calibration: score is raw.
IDENTITY: Knots = np.array([[0.0, 0.0], [1.0, 1.0]])
IDENTITY.setflags(write=False)


def check_knots(knots: Knots) -> None:
    """Raise ``ValueError``, with the reason, for knots that are not an increasing map of [0, 1] onto itself.

    >>> check_knots(np.array([[0.0, 0.0], [0.7, 0.7], [0.8, 0.7], [1.0, 1.0]]))
    Traceback (most recent call last):
    ValueError: knot 3 does not rise by 1e-06 over the one before
    """
    if len(knots) < 2 or not np.isfinite(knots).all() or not np.array_equal(knots[[0, -1]], IDENTITY):
        raise ValueError("the first knot must be (0, 0), the last one (1, 1)")
    # LEAST_RISE itself is rounded: a knot exactly that far away may seem a little nearer.
    too_flat = np.diff(knots, axis=0).min(axis=1) < LEAST_RISE * (1 - 1e-6)
    if too_flat.any():
        raise ValueError(f"knot {int(too_flat.argmax()) + 2} does not rise by {LEAST_RISE:g} over the one before")


def score_from_raw(raw: Values, knots: Knots) -> Values:
    """The scores of raws from 0 to 1. Monotone, rounding included.

    >>> knots = np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]])
    >>> score_from_raw(np.array([0.25, 0.5, 0.75]), knots).tolist()
    [0.125, 0.25, 0.625]
    """
    return _along(raw, knots[:, 0], knots[:, 1])


def raw_from_score(score: Values, knots: Knots) -> Values:
    """The inverse of :func:`score_from_raw`, up to rounding.

    >>> knots = np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]])
    >>> raw_from_score(np.array([0.125, 0.25, 0.625]), knots).tolist()
    [0.25, 0.5, 0.75]
    """
    return _along(score, knots[:, 1], knots[:, 0])


def raw_floors(scores: Values, knots: Knots) -> Values:
    """A lower bound, for every score, of the raws with this score or a higher one: the inverse, less rounding.

    >>> raw_floors(np.array([0.25]), np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]])).round(9).tolist()
    [0.5]
    """
    return raw_from_score(np.maximum(scores - _ROUNDING, 0.0), knots) - _ROUNDING


def raw_floor(score: float, knots: Knots) -> float:
    """Like :func:`raw_floors`, for one score.

    >>> 0.5 - 1e-11 < raw_floor(0.25, np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]])) < 0.5
    True
    """
    return float(raw_floors(np.array([score]), knots)[0])


def least_raw(score: float, knots: Knots) -> float:
    """The least raw whose score reaches this one, to the last bit: a threshold on score as one on raw.

    >>> least_raw(0.25, np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]]))
    0.5
    """
    low, high = max(raw_floor(score, knots), 0.0), 1.0
    if _reaches(low, score, knots):
        return low
    # Bisect until no number lies between the two ends; only the upper one reaches the score.
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if _reaches(middle, score, knots) else (middle, high)
    return high


def _reaches(raw: float, score: float, knots: Knots) -> bool:
    return bool(score_from_raw(np.array([raw]), knots)[0] >= score)


def _along(x: Values, xs: Float[np.ndarray, " knots"], ys: Float[np.ndarray, " knots"]) -> Values:
    segment = np.clip(np.searchsorted(xs, x, side="right") - 1, 0, len(xs) - 2)
    low, high = ys[segment], ys[segment + 1]
    share = (x - xs[segment]) / (xs[segment + 1] - xs[segment])
    # Clipped, so that no rounding error lets a value pass the next knot.
    return np.clip(low + share * (high - low), low, high)
