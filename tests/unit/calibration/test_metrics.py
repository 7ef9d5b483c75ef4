"""Reliability, precision, recall and their intervals, against loops nobody can get wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.calibration.metrics import (
    AtThreshold,
    at_thresholds,
    calibration_error,
    for_best_f1,
    for_precision,
    for_recall,
    reliability,
)


def found(raw: list[float], match: list[bool]) -> tuple[AtThreshold, ...]:
    return at_thresholds(np.array(raw), np.array(match), lambda values: values / 2)


rows = st.lists(st.tuples(st.sampled_from([0.1, 0.25, 0.5, 0.8, 0.9]), st.booleans()), min_size=1, max_size=30).filter(
    lambda drawn: any(match for _, match in drawn)
)


@given(rows)
def test_every_threshold_counts_what_reaches_it(drawn) -> None:
    figures = found([raw for raw, _ in drawn], [match for _, match in drawn])
    assert [one.raw for one in figures] == sorted({raw for raw, _ in drawn})
    for one in figures:
        reaching = [match for raw, match in drawn if raw >= one.raw]
        hits, matches = sum(reaching), sum(match for _, match in drawn)
        assert (one.found, one.score) == (len(reaching), one.raw / 2)
        assert one.precision.value == pytest.approx(hits / len(reaching))
        assert one.recall.value == pytest.approx(hits / matches)
        assert one.f1.value == pytest.approx(2 * hits / (len(reaching) + matches))
        for share in (one.precision, one.recall, one.f1):
            assert 0 <= share.low <= share.high <= 1


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Labels drawn again and again: the precision over 0.5 is 0.8 in truth."""
    covered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        raw = rng.choice([0.2, 0.5], 150)
        match = rng.random(150) < np.where(raw == 0.5, 0.8, 0.1)
        share = at_thresholds(raw, match, lambda values: values)[1].precision
        covered += share.low <= 0.8 <= share.high
    assert covered >= 36


def test_intervals_are_the_same_every_time_and_shrink_with_labels() -> None:
    raw, match = [0.2, 0.5, 0.5, 0.9] * 10, [False, False, True, True] * 10
    assert found(raw, match) == found(raw, match)
    assert found(raw * 9, match * 9)[1].precision.width < found(raw, match)[1].precision.width / 2


def test_thresholds_for_wishes() -> None:
    figures = found([0.1, 0.2, 0.3, 0.4, 0.5], [False, True, False, True, True])
    assert for_precision(figures, 0.75).raw == 0.2
    assert for_precision(figures, 0.76).raw == 0.4
    assert for_recall(figures, 0.6).raw == 0.4
    assert for_recall(figures, 1.0).raw == 0.2
    assert for_best_f1(figures).raw == 0.2
    assert for_precision(found([0.1, 0.5], [True, False]), 0.9) is None


def test_of_many_raws_a_thousand_are_looked_at() -> None:
    raw = np.linspace(0, 1, 1500).tolist()
    figures = found(raw, [value > 0.5 for value in raw])
    assert len(figures) == 1000
    assert (figures[0].raw, figures[-1].raw) == (0.0, 1.0)


def test_bars_hold_as_many_labels_each() -> None:
    score = np.random.default_rng(1).random(1005)
    bars = reliability(score, (np.random.default_rng(2).random(1005) < score).astype(float))
    assert sorted(bar.labels for bar in bars) == [100] * 5 + [101] * 5
    assert [bar.score for bar in bars] == sorted(bar.score for bar in bars)
    assert calibration_error(bars) < 0.05
    assert calibration_error(reliability(score, 1 - score)) > 0.4
