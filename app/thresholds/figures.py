"""What labels say of scores and thresholds: reliability, precision and recall, and how sure one can be of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from app.evaluation.significance import resample

RESAMPLES = 1000
LEVEL = 0.95
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
    """A share, and the interval in which it lies in 95 % of resamples of the labels."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """How far the interval reaches."""
        return self.high - self.low


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
) -> tuple[AtThreshold, ...]:
    """Precision, recall and F1 at the raw of every label, rising, with seeded bootstrap intervals.

    >>> found = at_thresholds(np.array([0.2, 0.8, 0.9]), np.array([False, True, True]), lambda raw: raw)
    >>> [(one.raw, one.found, round(one.precision.value, 2), one.recall.value) for one in found]
    [(0.2, 3, 0.67, 1.0), (0.8, 2, 1.0, 1.0), (0.9, 1, 1.0, 0.5)]
    """
    order = np.argsort(-raw, kind="stable")
    distinct, firsts = np.unique(-raw[order], return_index=True)
    lasts = np.append(firsts[1:], len(raw)) - 1
    looked_at = np.unique(np.linspace(0, len(lasts) - 1, min(len(lasts), _MOST_THRESHOLDS)).round().astype(int))
    chosen, lasts = -distinct[looked_at], lasts[looked_at]
    plain = _shares(np.ones((1, len(raw)), np.int64), match[order], lasts)
    drawn = [_shares(counts, match[order], lasts) for counts in resample(len(raw), RESAMPLES)]
    ends = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    # In a resample without any label over a threshold its precision is unknown, and that resample does not count.
    lows, highs = np.nanquantile(np.concatenate(drawn), ends, axis=0)
    of_each = zip(chosen.tolist(), scores(chosen).tolist(), (lasts + 1).tolist(), strict=True)
    return tuple(
        AtThreshold(*place, *(Share(*map(float, share)) for share in zip(plain[0, n], lows[n], highs[n], strict=True)))
        for n, place in reversed(list(enumerate(of_each)))
    )


def for_precision(found: Sequence[AtThreshold], wanted: float) -> AtThreshold | None:
    """The lowest threshold with this precision, or None: of all that keep the promise it finds the most."""
    return next((one for one in found if one.precision.value >= wanted), None)


def for_recall(found: Sequence[AtThreshold], wanted: float) -> AtThreshold | None:
    """The highest threshold with this recall."""
    return next((one for one in reversed(found) if one.recall.value >= wanted), None)


def for_best_f1(found: Sequence[AtThreshold]) -> AtThreshold:
    """The threshold with the largest F1; of equals the highest."""
    return max(found, key=lambda one: (one.f1.value, one.raw))


def _shares(
    counts: Int[np.ndarray, "resamples labels"],
    match: Bool[np.ndarray, " labels"],
    lasts: Int[np.ndarray, " thresholds"],
) -> Float[np.ndarray, "resamples thresholds 3"]:
    """Precision, recall and F1 of labels that are drawn so often, in falling order of raw."""
    hits = np.cumsum(counts * match, axis=1)[:, lasts].astype(np.float64)
    found = np.cumsum(counts, axis=1)[:, lasts].astype(np.float64)
    there = (counts @ match).astype(np.float64)[:, None]
    pairs = (hits, found), (hits, np.broadcast_to(there, hits.shape)), (2 * hits, found + there)
    return np.stack([np.divide(a, b, out=np.full(a.shape, np.nan), where=b > 0) for a, b in pairs], axis=2)
