"""Williams' test against published examples and chance; the bootstrap against a loop over the same resamples."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from models.errors import InvalidInput
from research.evaluation.significance import LEVEL, bootstrap_differences, compare, pearsons, resample, williams_test

GOLD = np.tile(np.arange(6.0), 10)


def noisy(seed: int, amount: float) -> np.ndarray:
    return GOLD / 5 + amount * np.random.default_rng(seed).standard_normal(len(GOLD))


# t and the two-sided p. Howell, Statistical Methods for Psychology, 6th edition, page 262; and what the reference
# implementation of Graham and Baldwin's (2014) test gives for the example of its page, one-sided p = 0.209286.
PUBLISHED = [((0.80, 0.72, 0.89, 26), 1.361, 0.187), ((0.65, 0.55, 0.30, 50), None, 2 * 0.20928617286753592)]


@pytest.mark.parametrize(("given", "t", "two_sided"), PUBLISHED)
def test_williams_on_published_examples(
    given: tuple[float, float, float, int], t: float | None, two_sided: float
) -> None:
    found, p = williams_test(*given)
    assert 2 * p == pytest.approx(two_sided, abs=5e-4 if t else 1e-9)
    assert t is None or found == pytest.approx(t, abs=5e-4)


def test_williams_by_hand() -> None:
    # r = .5, .3 and 0 between them: the determinant is .66, the mean of the two .4, and
    # t = .2 sqrt(9 / (2 * 9/7 * .66 + .16)) = .44188.
    t, p = williams_test(0.5, 0.3, 0.0, 10)
    assert t == pytest.approx(0.2 * (9 / (2 * 9 / 7 * 0.66 + 0.16)) ** 0.5)
    assert p == pytest.approx(1 - stats.t(7).cdf(t))


@given(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9), st.floats(-0.9, 0.9), st.integers(5, 500))
def test_williams_is_antisymmetric(ours: float, theirs: float, between: float, rows: int) -> None:
    assume(1 - ours**2 - theirs**2 - between**2 + 2 * ours * theirs * between > 0.01)  # such correlations exist
    t, p = williams_test(ours, theirs, between, rows)
    other, other_p = williams_test(theirs, ours, between, rows)
    assert t == pytest.approx(-other)
    assert p + other_p == pytest.approx(1)
    assert np.sign(t) == np.sign(ours - theirs)


@pytest.mark.parametrize("between", [0.2, 0.9, 1.0])
def test_equal_correlations_do_not_differ(between: float) -> None:
    assert williams_test(0.4, 0.4, between, 30) == (0.0, 0.5)


def test_more_rows_and_more_alike_scores_make_a_difference_surer() -> None:
    assert williams_test(0.7, 0.6, 0.5, 200)[1] < williams_test(0.7, 0.6, 0.5, 50)[1]
    assert williams_test(0.7, 0.6, 0.9, 50)[1] < williams_test(0.7, 0.6, 0.5, 50)[1]


def test_williams_errs_as_often_as_it_says() -> None:
    # Two scores that follow the gold equally well: p below .05 in about one of twenty trials.
    random = np.random.default_rng(5)
    gold = random.standard_normal((2000, 40))
    ours, theirs = (gold + random.standard_normal(gold.shape) for _ in range(2))

    def r(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (stats.zscore(a, axis=1) * stats.zscore(b, axis=1)).mean(axis=1)

    trials = zip(r(ours, gold), r(theirs, gold), r(ours, theirs), strict=True)
    share = np.mean([williams_test(*map(float, trial), 40)[1] < 0.05 for trial in trials])
    assert share == pytest.approx(0.05, abs=4 * (0.05 * 0.95 / 2000) ** 0.5)


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InvalidInput, match="3 rows are too few"):
        williams_test(0.5, 0.4, 0.3, 3)


def test_the_bootstrap_is_a_loop_over_resamples() -> None:
    ours, theirs = noisy(1, 0.2), noisy(2, 0.3)
    differences = []
    for counts in np.concatenate(list(resample(len(GOLD), 700))):
        rows = np.repeat(np.arange(len(GOLD)), counts)
        of_ours, of_theirs = (np.corrcoef(scores[rows], GOLD[rows])[0, 1] for scores in (ours, theirs))
        differences.append(of_ours - of_theirs)
    np.testing.assert_allclose(bootstrap_differences(ours, theirs, GOLD, 700), differences, atol=1e-12)


def test_resamples_are_as_many_as_asked_draw_evenly_and_repeat_themselves() -> None:
    counts = np.concatenate(list(resample(8, 1200)))
    assert counts.shape == (1200, 8)
    assert (counts.sum(axis=1) == 8).all()
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=5 * (1 / 1200) ** 0.5)
    np.testing.assert_array_equal(counts, np.concatenate(list(resample(8, 1200))))
    assert len(np.unique(counts, axis=0)) > 500


def test_a_resample_without_differences_has_no_correlation_and_is_left_out() -> None:
    gold = np.array([1.0, 1.0, 1.0, 2.0])
    scores = np.array([0.1, 0.3, 0.2, 0.4])
    counts = np.array([[2, 1, 1, 0], [1, 1, 1, 1]])
    assert np.isnan(pearsons(counts, scores, gold)).tolist() == [True, False]
    undefined = sum(int((block[:, 3] % 4 == 0).sum()) for block in resample(4, 1000))
    assert undefined > 100
    assert len(bootstrap_differences(scores, scores[::-1], gold, 1000)) == 1000 - undefined


def test_neither_scale_nor_shift_of_scores_matters() -> None:
    ours, theirs = noisy(1, 0.2), noisy(2, 0.3)
    here, there = compare(ours, theirs, GOLD), compare(1000 + 1e-3 * ours, 7 * theirs, GOLD / 5)
    assert here.bootstrap_positive == there.bootstrap_positive
    assert here.difference == pytest.approx(there.difference, abs=2e-6)
    assert here.bootstrap_lower == pytest.approx(there.bootstrap_lower, abs=2e-6)
    assert here.williams_p == pytest.approx(there.williams_p, rel=1e-4)


def test_a_comparison_puts_the_two_together() -> None:
    ours, theirs = noisy(1, 0.1), noisy(2, 0.5)
    found = compare(ours, theirs, GOLD)
    r = [np.corrcoef(*pair)[0, 1] for pair in ((ours, GOLD), (theirs, GOLD), (ours, theirs))]
    assert found.difference == pytest.approx(r[0] - r[1], abs=1e-6)
    assert (found.williams_t, found.williams_p) == pytest.approx(williams_test(*r, len(GOLD)), abs=1e-6)
    differences = sorted(bootstrap_differences(ours, theirs, GOLD))
    assert len(differences) == 10_000
    assert sum(difference < found.bootstrap_lower for difference in differences) == pytest.approx(10_000 * LEVEL, abs=1)
    assert found.bootstrap_positive == sum(difference > 0 for difference in differences) / 10_000
    assert found.williams_p < 0.01 < 0.95 < found.bootstrap_positive
    assert 0 < found.bootstrap_lower < found.difference


def test_scores_compared_with_themselves_are_no_better() -> None:
    found = compare(noisy(1, 0.2), noisy(1, 0.2), GOLD)
    assert (found.difference, found.williams_t, found.williams_p) == (0.0, 0.0, 0.5)
    assert (found.bootstrap_lower, found.bootstrap_positive) == (0.0, 0.0)
