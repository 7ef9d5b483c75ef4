"""Thresholds from few labels: the estimate against a naive one, and what labels and other phrases may move."""

import numpy as np
import pytest

from app.calibration.few_labels import LabelledPhrase, thresholds_of
from app.search.verification.stratified_sampling import BINS, bins_of

POPULATION = np.linspace(0.3, 1, 4_000)
COUNTS = np.bincount(bins_of(POPULATION), minlength=BINS)


def curve(raw: np.ndarray, middle: float) -> np.ndarray:
    return 1 / (1 + np.exp(-(raw - middle) / 0.03))


def labelled(middle: float, labels: int, seed: int) -> LabelledPhrase:
    rng = np.random.default_rng(seed)
    raw = rng.uniform(middle - 0.12, min(1, middle + 0.12), labels)
    return LabelledPhrase(raw, rng.random(labels) < curve(raw, middle), COUNTS)


@pytest.mark.parametrize("middle", [0.7, 0.8, 0.88])
def test_the_promise_is_kept_for_most_samples_of_twenty_labels(middle: float) -> None:
    kept = []
    for seed in range(40):
        reached = thresholds_of({"a": labelled(middle, 20, seed)}, 0.9)["a"]
        if reached is not None:
            kept.append(curve(POPULATION[reached.raw <= POPULATION], middle).mean() >= 0.85)
    assert len(kept) >= 30
    assert np.mean(kept) >= 0.9


def test_more_labels_narrow_the_interval_and_lower_a_careful_threshold() -> None:
    few, many = (thresholds_of({"a": labelled(0.8, labels, 5)}, 0.9)["a"] for labels in (20, 400))
    assert few is not None
    assert many is not None
    assert many.precision.width < few.precision.width / 2
    true = curve(POPULATION[many.raw <= POPULATION], 0.8).mean()
    assert many.precision.low - 0.02 <= true <= many.precision.high + 0.02


def test_found_counts_the_pairs_from_the_threshold_on() -> None:
    reached = thresholds_of({"a": labelled(0.8, 60, 1)}, 0.9)["a"]
    assert reached is not None
    assert reached.found == int((bins_of(POPULATION) >= round(reached.raw * BINS)).sum())


def test_a_precision_that_nothing_reaches_gives_none() -> None:
    never = LabelledPhrase(np.linspace(0.5, 1, 30), np.zeros(30, bool), COUNTS)
    assert thresholds_of({"a": never}, 0.9) == {"a": None}
    nothing = LabelledPhrase(np.linspace(0.5, 1, 30), np.arange(30) > 15, np.zeros(BINS, np.int64))
    assert thresholds_of({"a": nothing}, 0.9) == {"a": None}


def test_phrases_that_are_labelled_together_share_what_they_have_in_common() -> None:
    # Five phrases that match late move the prior, and so a sixth that has few labels.
    late = {str(seed): labelled(0.9, 60, seed) for seed in range(5)}
    few = labelled(0.9, 5, 11)
    alone, together = thresholds_of({"few": few}, 0.8)["few"], thresholds_of(late | {"few": few}, 0.8)["few"]
    assert together is not None
    assert alone is None or together.raw > alone.raw or together.precision.width < alone.precision.width
