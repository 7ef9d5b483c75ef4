"""Calibrations: rising, invertible, and what plain interpolation says."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ops.calibrate import IDENTITY, LEAST_RISE, check_knots, least_raw, raw_floor, raw_from_score, score_from_raw
from tests.strategies import knots

shares = st.floats(0, 1)
some = st.lists(shares, min_size=1, max_size=30).map(np.array)


def interpolated(x: float, points: list[tuple[float, float]]) -> float:
    """The naive way: look for the segment, take its share."""
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= x <= x1:
            return y0 + (x - x0) / (x1 - x0) * (y1 - y0)
    raise AssertionError(x)


@given(knots, some)
def test_scores_are_interpolated(drawn, raws) -> None:
    check_knots(drawn)
    points = [(float(x), float(y)) for x, y in drawn]
    expected = [interpolated(raw, points) for raw in raws.tolist()]
    np.testing.assert_allclose(score_from_raw(raws, drawn), expected, rtol=0, atol=1e-9)


@given(knots, some)
def test_scores_never_fall_where_raws_rise(drawn, raws) -> None:
    near_knots = np.concatenate([drawn[:, 0], np.nextafter(drawn[:, 0], 0), np.nextafter(drawn[:, 0], 1)])
    ordered = np.sort(np.concatenate([raws, near_knots]))
    scores = score_from_raw(ordered, drawn)
    assert (np.diff(scores) >= 0).all()
    assert scores.min() >= 0
    assert scores.max() <= 1


@given(knots, some)
def test_there_and_back(drawn, values) -> None:
    there = score_from_raw(values, drawn)
    np.testing.assert_allclose(raw_from_score(there, drawn), values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(score_from_raw(raw_from_score(values, drawn), drawn), values, rtol=0, atol=1e-9)
    assert score_from_raw(drawn[:, 0], drawn).tolist() == drawn[:, 1].tolist()


@given(knots, shares, some)
def test_nothing_of_a_score_lies_under_its_floor(drawn, score, raws) -> None:
    at_the_border = float(raw_from_score(np.array([score]), drawn)[0])
    raws = np.concatenate([raws, [at_the_border, np.nextafter(at_the_border, 0), np.nextafter(at_the_border, 1)]])
    reaching = raws[score_from_raw(raws, drawn) >= score]
    assert (reaching >= raw_floor(score, drawn)).all()
    assert raw_floor(score, drawn) >= at_the_border - 1e-5


@given(knots, shares, some)
def test_a_threshold_is_the_same_on_raw(drawn, score, raws) -> None:
    """To the last bit: hits at the very border stay hits when the threshold is told on the other scale."""
    for value in (score, float(score_from_raw(raws, drawn)[0])):
        border = least_raw(value, drawn)
        raws = np.concatenate([raws, [border, np.nextafter(border, 0), np.nextafter(border, 1)]]).clip(0, 1)
        assert (score_from_raw(raws, drawn) >= value).tolist() == (raws >= border).tolist()


def test_a_score_is_that_of_its_raw_alone() -> None:
    """To the last bit, whatever else is asked: previews count what searches show."""
    drawn = np.array([[0.0, 0.0], [0.31, 0.07], [0.77, 0.9], [1.0, 1.0]])
    raws = np.random.default_rng(1).random(999)
    assert score_from_raw(raws, drawn).tolist() == [float(score_from_raw(raws[[n]], drawn)[0]) for n in range(999)]


def test_the_identity_changes_nothing() -> None:
    raws = np.random.default_rng(2).random(999)
    assert score_from_raw(raws, IDENTITY).tolist() == raws.tolist()


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([(0.0, 0.1), (1.0, 1.0)], "first knot"),
        ([(0.0, 0.0), (1.0, 0.9)], "last one"),
        ([(0.0, 0.0), (0.5, float("nan")), (1.0, 1.0)], "first knot"),
        ([(0.0, 0.0), (0.5, 0.6), (0.6, 0.5), (1.0, 1.0)], "knot 3 does not rise"),
        ([(0.0, 0.0), (0.5, 0.5), (0.5, 0.6), (1.0, 1.0)], "knot 3 does not rise"),
        ([(0.0, 0.0), (0.5, LEAST_RISE / 2), (1.0, 1.0)], "knot 2 does not rise"),
    ],
)
def test_knots_that_are_no_map_are_refused(points, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        check_knots(np.array(points))
