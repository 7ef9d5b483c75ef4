"""Calibrations learned from labels that were drawn from a known truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from app.calibration.fitting import _folds, _smoothed, fit, isotonic_knots, logistic_knots
from app.calibration.labels import LabelsRefused
from models.ops.calibrate import check_knots, isotonic, least_raw, logistic, score_from_raw
from tests.examples import examples
from tests.reference import isotonic_steps


def truth(raw: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-(raw - 0.75) * 40))


def drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    raw = rng.uniform(0.5, 1, count)
    return raw, (rng.random(count) < truth(raw)).astype(float), [f"p{n % 10}" for n in range(count)]


@pytest.mark.parametrize("make", [isotonic_knots, logistic_knots])
def test_the_truth_is_found(make) -> None:
    raw, degree, _ = drawn(4000, 1)
    asked = np.linspace(0.6, 0.9, 50)
    assert np.abs(score_from_raw(asked, make(raw, degree)) - truth(asked)).mean() < 0.03


def test_cross_validation_chooses_the_curve_that_fits() -> None:
    """Few labels of a logistic truth: the curve. Many of a staircase: the isotonic map."""
    assert [fit(*drawn(60, seed)).method for seed in range(8)].count("logistic") >= 6
    raw, _, phrases = drawn(3000, 4)
    stairs = np.select([raw < 0.6, raw < 0.9], [0.05, 0.5], 0.55)
    degree = (np.random.default_rng(5).random(3000) < stairs).astype(float)
    found = fit(raw, degree, phrases)
    assert found.method == "isotonic"
    assert found.errors["isotonic"] < found.errors["logistic"]


def test_scores_are_nearer_to_the_truth_than_raws() -> None:
    raw, degree, phrases = drawn(500, 6)
    found = fit(raw, degree, phrases)
    assert np.mean((found.unseen - truth(raw)) ** 2) < np.mean((raw - truth(raw)) ** 2) / 5


def test_unseen_scores_are_those_of_maps_that_did_not_see_the_phrase() -> None:
    """A phrase whose labels are all wrong cannot make its own scores fit."""
    raw, degree, phrases = drawn(400, 7)
    odd = np.array([phrase == "p3" for phrase in phrases])
    degree[odd] = 1 - degree[odd]
    found = fit(raw, degree, phrases)
    assert np.mean((found.unseen[odd] - degree[odd]) ** 2) > 0.5


def test_degrees_between_are_learned_as_such() -> None:
    raw = np.linspace(0.5, 1, 200)
    found = fit(raw, np.linspace(0, 1, 200), ["one phrase"] * 200)
    assert np.abs(score_from_raw(raw, found.knots) - np.linspace(0, 1, 200)).max() < 0.05


def test_the_same_labels_give_the_same_map() -> None:
    one, other = fit(*drawn(100, 8)), fit(*drawn(100, 8))
    assert one.knots.tolist() == other.knots.tolist()
    assert one.errors == other.errors


def test_labels_that_fall_are_refused() -> None:
    raw, degree, phrases = drawn(200, 9)
    with pytest.raises(LabelsRefused, match="not more similar"):
        fit(raw, 1 - degree, phrases)


raws = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 0.5000001, 0.9, 1.0])), min_size=20, max_size=60)


@settings(max_examples=examples(100))
@given(raws, st.integers(0, 2**32 - 1), st.booleans())
def test_whatever_the_labels_the_map_is_one(values, seed, graded) -> None:
    raw, rng = np.array(values), np.random.default_rng(seed)
    degree = rng.random(len(raw)) if graded else rng.integers(0, 2, len(raw)).astype(float)
    for make in (isotonic_knots, logistic_knots):
        check_knots(make(raw, degree))


@settings(max_examples=examples(60))
@given(raws, st.integers(0, 2**32 - 1), st.booleans())
def test_isotonic_values_are_those_of_scikit_learn(values, seed, graded) -> None:
    raw, rng = np.array(values).round(9), np.random.default_rng(seed)
    degree = rng.random(len(raw)) if graded else rng.integers(0, 2, len(raw)).astype(float)
    np.testing.assert_allclose(isotonic(raw, degree), IsotonicRegression().fit_transform(raw, degree), atol=1e-6)


@pytest.mark.parametrize("labels", [20, 300])
@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_logistic_curves_are_those_of_scikit_learn(labels, spread, seed) -> None:
    """From unrelated labels to separated ones, and labels of one kind alone; `C` is the penalty."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(labels)
    for degree in (rng.random(labels) < 1 / (1 + np.exp(-spread * x)), np.ones(labels), rng.random(labels)):
        shares = _smoothed(degree.astype(float))
        model = LogisticRegression(C=1e6, tol=1e-12, max_iter=1000, solver="newton-cholesky").fit(
            np.tile(x, 2)[:, None], np.repeat([1, 0], labels), sample_weight=np.concatenate([shares, 1 - shares])
        )
        np.testing.assert_allclose(logistic(x, shares), [model.coef_[0, 0], model.intercept_[0]], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("groups", [5, 6, 40])
def test_folds_are_those_of_scikit_learn(groups) -> None:
    drawn_groups = np.concatenate([np.arange(groups), np.random.default_rng(groups).integers(0, groups, 60)])
    expected = GroupKFold(5, shuffle=True, random_state=13).split(drawn_groups, groups=drawn_groups)
    assert [left_out.tolist() for left_out in _folds(drawn_groups)] == [rows.tolist() for _, rows in expected]


spaced = st.lists(st.integers(5, 95), min_size=5, max_size=30).map(lambda hundredths: [n / 100 for n in hundredths])


@settings(max_examples=examples(60))
@given(spaced, st.integers(0, 2**32 - 1))
def test_the_isotonic_map_goes_through_the_centres_of_its_steps(values, seed) -> None:
    """Steps by the naive min-max formula, for labels that are not too near each other for knots."""
    raw = np.array(values)
    degree = np.random.default_rng(seed).integers(0, 2, len(raw)).astype(float)
    steps = np.array(isotonic_steps(values, _smoothed(degree).tolist())).round(9)
    centres = [[raw[steps == step].mean(), step] for step in np.unique(steps)]
    np.testing.assert_allclose(isotonic_knots(raw, degree)[1:-1], centres, atol=1e-8)


@settings(max_examples=examples(50))
@given(raws, st.integers(0, 2**32 - 1), raws, st.integers(0))
def test_different_hits_show_different_scores(values, seed, hits, drawn_number) -> None:
    """In the order of their raws, and a threshold that separates two on one scale separates them on the other."""
    raw = np.array(values)
    knots = isotonic_knots(raw, np.random.default_rng(seed).random(len(raw)))
    shown = np.unique(np.round(hits, 4))
    scores = score_from_raw(shown, knots)
    assert (np.diff(scores) > 0).all()
    number = drawn_number % len(shown)
    reached = shown >= least_raw(float(scores[number]), knots)
    assert reached.tolist() == (np.arange(len(shown)) >= number).tolist()


def test_hits_between_labels_of_one_step_are_told_apart() -> None:
    """Wherever a step is a long one, its scores used to look the same to three digits."""
    raw, degree, _ = drawn(400, 11)
    asked = np.arange(0.55, 0.95, 0.005)
    scores = score_from_raw(asked, isotonic_knots(raw, degree))
    assert len(np.unique(scores.round(3))) > 0.7 * len(asked)
