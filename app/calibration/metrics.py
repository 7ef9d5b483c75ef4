"""What labels say of scores and thresholds: reliability, precision and recall, and how sure one can be of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from app.calibration.intervals import effective_labels, resample_strata, wilson

RESAMPLES = 1000
_BARS = 10
# Of more different raws so many are looked at, evenly.
_MOST_THRESHOLDS = 1000


@dataclass(frozen=True, slots=True)
class Bar:
    """A tenth of the labels, by score: what they score on average, and the share of a match that people gave them."""

    score: float
    observed: float
    labels: int


@dataclass(frozen=True, slots=True)
class Share:
    """A share, and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """How far the interval reaches."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Sampled:
    """How labels were drawn: what each stands for, one over its probability, and its stratum."""

    weights: Float[np.ndarray, " labels"]
    strata: Int[np.ndarray, " labels"]

    @classmethod
    def plain(cls, labels: int) -> "Sampled":
        """Labels of which nothing is known stand for themselves."""
        return cls(np.ones(labels), np.zeros(labels, np.int64))


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """What a threshold finds among the labels; ``found`` of them reach it."""

    raw: float
    score: float
    found: int
    precision: Share
    recall: Share
    f1: Share


def reliability(score: Float[np.ndarray, " labels"], degree: Float[np.ndarray, " labels"]) -> tuple[Bar, ...]:
    """Ten bars of as many labels each.

    >>> reliability(np.array([0.2, 0.4]), np.array([0.0, 1.0]))
    (Bar(score=0.2, observed=0.0, labels=1), Bar(score=0.4, observed=1.0, labels=1))
    """
    parts = np.array_split(np.argsort(score, kind="stable"), _BARS)
    return tuple(
        Bar(round(float(score[part].mean()), 6), round(float(degree[part].mean()), 6), len(part))
        for part in parts
        if len(part)
    )


def calibration_error(bars: Sequence[Bar]) -> float:
    """How far scores and what was observed are apart, on average over the labels.

    >>> calibration_error([Bar(0.25, 0.0, 1), Bar(0.5, 1.0, 3)])
    0.4375
    """
    total = sum(bar.labels for bar in bars)
    return round(sum(bar.labels * abs(bar.score - bar.observed) for bar in bars) / total, 6)


def at_thresholds(
    raw: Float[np.ndarray, " labels"],
    match: Bool[np.ndarray, " labels"],
    scores: Callable[[Float[np.ndarray, " raws"]], Float[np.ndarray, " raws"]],
    sampled: Sampled | None = None,
) -> tuple[AtThreshold, ...]:
    """Precision, recall and F1 at the raw of every label, rising, with their intervals (``app.calibration.intervals``).

    They are of the labels, or else of what the labels were ``sampled`` from: every label stands for as many pairs as
    its weight says, and shares are ratios of such sums (Hajek, 1971).

    >>> found = at_thresholds(np.array([0.2, 0.8, 0.9]), np.array([False, True, True]), lambda raw: raw)
    >>> [(one.raw, one.found, round(one.precision.value, 2), one.recall.value) for one in found]
    [(0.2, 3, 0.67, 1.0), (0.8, 2, 1.0, 1.0), (0.9, 1, 1.0, 0.5)]
    """
    drawn = sampled or Sampled.plain(len(raw))
    order = np.argsort(-raw, kind="stable")
    distinct, firsts = np.unique(-raw[order], return_index=True)
    lasts = np.append(firsts[1:], len(raw)) - 1
    looked_at = np.unique(np.linspace(0, len(lasts) - 1, min(len(lasts), _MOST_THRESHOLDS)).round().astype(int))
    chosen, lasts = -distinct[looked_at], lasts[looked_at]
    shares = _with_ends(drawn.weights[order], drawn.strata[order], match[order], lasts)
    of_each = zip(chosen.tolist(), scores(chosen).tolist(), (lasts + 1).tolist(), shares.tolist(), strict=True)
    rising = reversed(list(of_each))
    return tuple(AtThreshold(*place, *(Share(*share) for share in of_place)) for *place, of_place in rising)


def unseen_matches(
    weights: Float[np.ndarray, " labels"], strata: Int[np.ndarray, " labels"], match: Bool[np.ndarray, " labels"]
) -> float:
    """How many matches there may be in strata of which no label is one: of n labels, 3 / n may have been overlooked.

    This is the rule of three (Hanley and Lippman-Hand, 1983), for what stands behind each label beside itself.

    >>> strata, match = np.array([1, 1, 2, 2, 2, 2]), np.array([True, True, False, False, False, False])
    >>> unseen_matches(np.array([2.0, 2.0, 501.0, 501.0, 501.0, 501.0]), strata, match)
    1500.0
    """
    found = 0.0
    for stratum in np.unique(strata):
        here = strata == stratum
        if not match[here].any():
            found += min(3 / int(here.sum()), 1.0) * float((weights[here] - 1).sum())
    return found


def for_precision(found: Sequence[AtThreshold], wanted: float) -> AtThreshold | None:
    """The lowest threshold with this precision, or None: of all that keep the promise it finds the most."""
    return next((one for one in found if one.precision.value >= wanted), None)


def for_recall(found: Sequence[AtThreshold], wanted: float) -> AtThreshold | None:
    """The highest threshold with this recall."""
    return next((one for one in reversed(found) if one.recall.value >= wanted), None)


def for_best_f1(found: Sequence[AtThreshold]) -> AtThreshold:
    """The threshold with the largest F1; of equals the highest."""
    return max(found, key=lambda one: (one.f1.value, one.raw))


def _with_ends(
    weights: Float[np.ndarray, " labels"],
    strata: Int[np.ndarray, " labels"],
    match: Bool[np.ndarray, " labels"],
    lasts: Int[np.ndarray, " thresholds"],
) -> Float[np.ndarray, "thresholds 3 3"]:
    """Precision, recall and F1, each with both ends of its interval."""
    values = _shares(weights[None], match, lasts)[0]
    resampled = [_shares(counts * weights, match, lasts) for counts in resample_strata(strata, RESAMPLES)]
    # In a resample without any label over a threshold its precision is unknown, and that resample does not count.
    spread = np.nanstd(np.concatenate(resampled), axis=0)
    labels = _counted(np.ones(len(weights)), match, lasts)
    equal = _counted(weights, match, lasts) ** 2 / _counted(weights**2, match, lasts)
    enough = effective_labels(*(figures.ravel() for figures in (values, spread, labels, equal)))
    ends = wilson(values.ravel(), enough).reshape(*values.shape, 2)
    # Matches that nobody has seen can only lower recall and F1; precision knows all that it is a share of.
    known = _counted(weights, match, lasts)
    ends[:, 1:, 0] *= (known / (known + unseen_matches(weights, strata, match)))[:, 1:]
    return np.concatenate([values[:, :, None], ends], axis=2)


def _shares(
    weights: Float[np.ndarray, "resamples labels"],
    match: Bool[np.ndarray, " labels"],
    lasts: Int[np.ndarray, " thresholds"],
) -> Float[np.ndarray, "resamples thresholds 3"]:
    """Precision, recall and F1 of labels that count so much, in falling order of raw."""
    hits = np.cumsum(weights * match, axis=1)[:, lasts]
    found = np.cumsum(weights, axis=1)[:, lasts]
    there = (weights @ match)[:, None]
    pairs = (hits, found), (hits, np.broadcast_to(there, hits.shape)), (2 * hits, found + there)
    return np.stack([np.divide(a, b, out=np.full(a.shape, np.nan), where=b > 0) for a, b in pairs], axis=2)


def _counted(
    weights: Float[np.ndarray, " labels"], match: Bool[np.ndarray, " labels"], lasts: Int[np.ndarray, " thresholds"]
) -> Float[np.ndarray, "thresholds 3"]:
    """What the labels that precision, recall and F1 are shares of weigh: those found, the matches, and either."""
    found, there = np.cumsum(weights)[lasts], np.full(len(lasts), weights @ match)
    return np.stack([found, there, found + there - np.cumsum(weights * match)[lasts]], axis=1)
