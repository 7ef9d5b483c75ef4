"""What drawn labels say of the collection they were drawn from: right on average, and as sure as it claims to be.

The collection is made up, so that the truth is known: some thousand pairs of eight phrases, most of them far below any
threshold, matching the more often the higher they score.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from jaxtyping import Bool, Float

from app.calibration.metrics import AtThreshold, Sampled, at_thresholds, for_precision
from app.search.verification.stratified_sampling import BINS, bins_of, draw, plan_strata, probabilities

PHRASES, NEAR, LABELS = 8, 0.8, 200


@dataclass(frozen=True)
class Made:
    raw: Float[np.ndarray, " pairs"]
    match: Bool[np.ndarray, " pairs"]
    phrase: np.ndarray

    def precision(self, threshold: float) -> float:
        return float(self.match[self.raw >= threshold].mean())

    def recall(self, threshold: float) -> float:
        return float(self.match[self.raw >= threshold].sum() / self.match.sum())


@dataclass(frozen=True)
class Drawn:
    raw: Float[np.ndarray, " labels"]
    match: Bool[np.ndarray, " labels"]
    sampled: Sampled

    def figures(self) -> tuple[AtThreshold, ...]:
        return at_thresholds(self.raw, self.match, lambda raw: raw, self.sampled)


def made_up() -> Made:
    rng = np.random.default_rng(7)
    phrase = rng.choice(PHRASES, 20_000, p=np.arange(1, PHRASES + 1) / 36)
    raw = np.clip(
        np.where(rng.random(20_000) < 0.06, rng.normal(0.85, 0.07, 20_000), rng.normal(0.6, 0.05, 20_000)), 0, 1
    )
    # Phrases differ: the same raw means more to some than to others.
    match = rng.random(20_000) < 1 / (1 + np.exp(-45 * (raw - 0.8 - phrase / 200)))
    return Made(raw, match, phrase)


def drawn(made: Made, seed: int, labels: int = LABELS) -> Drawn:
    """As ``app.calibration.label_candidates`` draws."""
    cells = [np.flatnonzero(made.phrase == number) for number in range(PHRASES)]
    cells = [rows[np.argsort(-made.raw[rows])] for rows in cells]
    counts = np.stack([np.bincount(bins_of(made.raw[rows]), minlength=BINS) for rows in cells])
    rng = np.random.default_rng(seed)
    found, weights, numbers = [], [], []
    for stratum in plan_strata(counts.sum(axis=0), NEAR, labels):
        low, high = round(stratum.low * BINS), round(stratum.high * BINS)
        chances = probabilities(counts[:, low:high].sum(axis=1), stratum.drawn)
        places = draw(counts[:, low:high].sum(axis=1), chances, rng)
        for rows, chosen, chance, above in zip(cells, places, chances, counts[:, high:].sum(axis=1), strict=True):
            found += rows[above + chosen].tolist()
            weights += [1 / chance] * len(chosen)
            numbers += [stratum.number] * len(chosen)
    return Drawn(made.raw[found], made.match[found], Sampled(np.array(weights), np.array(numbers)))


def reaching(figures: tuple[AtThreshold, ...], threshold: float) -> AtThreshold:
    """What the labels say of a threshold: that of the lowest label which reaches it."""
    return next(at for at in figures if at.raw >= threshold)


MADE = made_up()


@cache
def draws() -> list[Drawn]:
    """Made by the first test that needs them: collecting tests is not to wait for them."""
    return [drawn(MADE, seed) for seed in range(200)]


@cache
def all_figures() -> list[tuple[AtThreshold, ...]]:
    return [one.figures() for one in draws()]


def off(estimates: list[float], truth: float) -> float:
    """How many standard errors the average lies from the truth."""
    return abs(np.mean(estimates) - truth) / (np.std(estimates) / np.sqrt(len(estimates)))


def test_totals_are_unbiased() -> None:
    """Horvitz and Thompson: as many pairs, and as many matches, as there are, over a threshold and in all."""
    for threshold in (0.0, 0.7, 0.8, 0.88):
        matches = [float(one.sampled.weights @ (one.match & (one.raw >= threshold))) for one in draws()]
        assert off(matches, int((MADE.match & (MADE.raw >= threshold)).sum())) < 4
    pairs = [float(one.sampled.weights.sum()) for one in draws()]
    assert off(pairs, len(MADE.raw)) < 4


@pytest.mark.slow("thousands of draws")
@pytest.mark.parametrize("threshold", [0.76, 0.8, 0.84, 0.88])
def test_precision_is_right_on_average(threshold: float) -> None:
    found = [reaching(figures, threshold).precision.value for figures in all_figures()]
    assert np.mean(found) == pytest.approx(MADE.precision(threshold), abs=0.01)


@pytest.mark.slow("thousands of draws")
def test_without_weights_it_would_not_be() -> None:
    plain = [at_thresholds(one.raw, one.match, lambda raw: raw) for one in draws()[:50]]
    found = np.mean([reaching(figures, 0.7).precision.value for figures in plain])
    assert abs(found - MADE.precision(0.7)) > 0.02
    assert np.mean([reaching(figures, 0.7).precision.value for figures in all_figures()]) == pytest.approx(
        MADE.precision(0.7), abs=0.01
    )


@pytest.mark.parametrize("threshold", [0.76, 0.8, 0.84, 0.88])
@pytest.mark.slow("thousands of draws")
def test_intervals_of_precision_cover_it_as_often_as_they_promise(threshold: float) -> None:
    shares = [reaching(figures, threshold).precision for figures in all_figures()]
    covered = np.mean([share.low <= MADE.precision(threshold) <= share.high for share in shares])
    # 95 %, less three standard errors of 200 draws.
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)
    assert np.mean([share.width for share in shares]) < 0.25


@pytest.mark.parametrize("threshold", [0.8, 0.84])
@pytest.mark.slow("thousands of draws")
def test_intervals_of_recall_and_f1_cover_them(threshold: float) -> None:
    precision, recall = MADE.precision(threshold), MADE.recall(threshold)
    truth = {"recall": recall, "f1": 2 * precision * recall / (precision + recall)}
    for name, value in truth.items():
        shares = [getattr(reaching(figures, threshold), name) for figures in all_figures()]
        assert np.mean([share.low <= value <= share.high for share in shares]) >= 0.9


@pytest.mark.ci("many examples")
def test_the_chosen_threshold_keeps_its_promise() -> None:
    chosen = [for_precision(figures, 0.9) for figures in all_figures()]
    true = np.array([MADE.precision(at.raw) for at in chosen])
    assert np.mean(true) == pytest.approx(0.9, abs=0.015)
    assert (np.abs(true - 0.9) <= 0.05).mean() > 0.8
    covered = [at.precision.low <= value <= at.precision.high for at, value in zip(chosen, true, strict=True)]
    assert np.mean(covered) >= 0.9


def test_where_all_labels_agree_nothing_is_certain() -> None:
    """Percentiles of resamples would say from 1 to 1."""
    raw = np.array([0.2, 0.3, 0.8, 0.85, 0.9] * 4)
    sampled = Sampled(np.full(20, 3.0), np.repeat([1, 2], 10))
    top = at_thresholds(raw, raw > 0.5, lambda values: values, sampled)[-3]
    assert (top.found, top.precision.value, top.precision.high) == (12, 1.0, 1.0)
    assert 0.7 < top.precision.low < 0.8
