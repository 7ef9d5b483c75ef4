"""Calibrations: increasing, piecewise linear maps from raw to score, and their inverses.

A map is given by its knots, pairs of raw and score from (0, 0) to (1, 1) that increase in both. So it never changes an
order, and every threshold on either scale has exactly one on the other.
"""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float

Knots: TypeAlias = Float[np.ndarray, "knots 2"]
Values: TypeAlias = Float[np.ndarray, " values"]
Labels: TypeAlias = Float[np.ndarray, " labels"]

# The least rise between neighbouring knots, on both axes, so that rounding errors stay small in both directions.
LEAST_RISE = 1e-6
# An upper bound on the rounding error of a score.
_ROUNDING = 1e-12
# The penalty on the square of a logistic slope, which decides where labels do not.
_RIDGE = 1e-6
_NEWTON_STEPS = 100
_CONVERGED = 1e-10

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


def isotonic(x: Labels, y: Labels) -> Labels:
    """The increasing values that are nearest to ``y`` in least squares; equal ``x`` get equal values.

    Pools adjacent violators (Ayer et al., 1955).

    >>> isotonic(np.array([0.1, 0.2, 0.3, 0.3]), np.array([0.0, 1.0, 0.0, 0.5])).tolist()
    [0.0, 0.5, 0.5, 0.5]
    """
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    pools: list[tuple[float, int, int]] = []  # the sum of y, the number of labels and of distinct x
    for total, labels in zip(np.bincount(place, weights=y).tolist(), counts.tolist(), strict=True):
        distinct = 1
        while pools and pools[-1][0] * labels >= total * pools[-1][1]:
            before = pools.pop()
            total, labels, distinct = total + before[0], labels + before[1], distinct + before[2]
        pools.append((total, labels, distinct))
    totals, sizes, widths = np.array(pools).T
    return np.repeat(totals / sizes, widths.astype(int))[place]


def logistic(x: Labels, y: Labels) -> tuple[float, float]:
    """Slope and intercept of the logistic curve of maximum likelihood; ``y`` are shares between 0 and 1 (Platt, 1999).

    Newton's method, with steps halved until the likelihood rises. Give ``x`` with a spread of about 1.

    >>> np.round(logistic(np.array([0.0, 2.0]), np.array([0.25, 0.75])), 4).tolist()
    [1.0986, -1.0986]
    """
    terms, penalty = np.stack([x, np.ones(len(x))], axis=1), np.array([_RIDGE, 0.0])

    def loss(curve: Float[np.ndarray, "2"]) -> float:
        logits = terms @ curve
        return float(np.sum(np.logaddexp(0, logits) - y * logits) + penalty @ curve**2 / 2)

    curve = np.array([0.0, np.log(y.mean() / (1 - y.mean()))])
    for _ in range(_NEWTON_STEPS):
        shares = 1 / (1 + np.exp(-(terms @ curve)))
        slopes = terms.T @ (shares - y) + penalty * curve
        step = np.linalg.solve((terms.T * (shares * (1 - shares))) @ terms + np.diag(penalty), slopes)
        while loss(curve - step) > loss(curve) and np.abs(step).max() > _CONVERGED:
            step = step / 2
        curve = curve - step
        if np.abs(step).max() <= _CONVERGED:
            break
    return float(curve[0]), float(curve[1])


def _reaches(raw: float, score: float, knots: Knots) -> bool:
    return bool(score_from_raw(np.array([raw]), knots)[0] >= score)


def _along(x: Values, xs: Float[np.ndarray, " knots"], ys: Float[np.ndarray, " knots"]) -> Values:
    segment = np.clip(np.searchsorted(xs, x, side="right") - 1, 0, len(xs) - 2)
    low, high = ys[segment], ys[segment + 1]
    share = (x - xs[segment]) / (xs[segment + 1] - xs[segment])
    # Clipped, so that no rounding error lets a value pass the next knot.
    return np.clip(low + share * (high - low), low, high)
