"""Correlations are those of their definitions."""

import numpy as np
import pytest

from models.errors import InvalidInput
from research.evaluation.significance import correlations


def test_correlations_are_those_of_the_definition() -> None:
    scores, gold = np.array([0.3, 0.1, 0.8, 0.4]), np.array([2.0, 1.0, 3.0, 5.0])
    found = correlations(scores, gold)
    ranks = [np.argsort(np.argsort(values)) for values in (scores, gold)]
    assert found.pearson == pytest.approx(np.corrcoef(scores, gold)[0, 1], abs=1e-6)
    assert found.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-6)


def test_ties_share_their_ranks() -> None:
    # Ranks 1.5, 1.5, 3 and 1, 2, 3: covariance 0.5, variances 0.5 and 2/3, so r = sqrt(3) / 2.
    assert correlations(np.array([1.0, 1.0, 7.0]), np.array([1.0, 2.0, 3.0])).spearman == pytest.approx(0.866025)


@pytest.mark.parametrize(
    ("scores", "gold"), [([], []), ([1.0], [1.0]), ([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 3.0])]
)
def test_what_is_undefined_is_refused(scores: list[float], gold: list[float]) -> None:
    with pytest.raises(InvalidInput, match=f"{len(gold)} rows"):
        correlations(np.array(scores), np.array(gold))
