"""Reliability, precision and recall of scores and thresholds, estimated from labels, with confidence intervals.

Labels may have been drawn with unequal probabilities. For an interval, labels are resampled within their strata. The
spread of a share over the resamples gives the size of a simple random sample that would be as good, and Wilson's
interval (1927) is computed for that size. Percentiles of the resamples would claim certainty where all labels agree:
every resample of ten matches is ten matches.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float, Int

from app.answers import described
from models.errors import InvalidInput
from models.ops.proportions import Shares, wilson

RESAMPLES = 1000
_BARS = 10
# The most thresholds to evaluate; of more distinct raws, evenly spaced ones.
_MOST_THRESHOLDS = 1000
_SEED = 13
# Resamples drawn at a time, to bound memory.
_BLOCK = 250


@dataclass(frozen=True, slots=True)
class ThresholdTargets:
    """The precision and the recall to suggest thresholds for."""

    precision: float = 0.9
    recall: float = 0.9


def check_targets(targets: ThresholdTargets) -> None:
    """Raise ``InvalidInput`` for a precision or recall that is not in (0, 1]."""
    for name, value in asdict(targets).items():
        if not 0 < value <= 1:
            raise InvalidInput(f"A {name} cannot be {value}.", hint="Choose more than 0, up to 1.", field=name)


@dataclass(frozen=True, slots=True)
class Bar:
    """A tenth of the labels, by score."""

    score: Annotated[float, described("Their mean score.")]
    observed: Annotated[float, described("Their mean labelled degree, scaled to 1.")]
    labels: int


@dataclass(frozen=True, slots=True)
class Share:
    """A share, and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Sampled:
    """The sampling design of labels: the weight of each, which is 1 / probability, and its stratum."""

    weights: Float[np.ndarray, " labels"]
    strata: Int[np.ndarray, " labels"]

    @classmethod
    def plain(cls, labels: int) -> "Sampled":
        """Labels of unknown origin: each has weight 1."""
        return cls(np.ones(labels), np.zeros(labels, np.int64))


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """Precision, recall and F1 of a threshold on the labels; ``found`` of them reach it."""

    raw: float
    score: float
    found: Annotated[int, described("Labels that reach it.")]
    precision: Share
    recall: Share
    f1: Share


def reliability(score: Float[np.ndarray, " labels"], degree: Float[np.ndarray, " labels"]) -> tuple[Bar, ...]:
    """The reliability diagram: up to ten bars with equal numbers of labels.

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
    """The expected calibration error: the mean distance of score and observed degree over the labels.

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
    """Precision, recall and F1 with their intervals at the raw of every label, in rising order.

    They describe the labels, or the population that the labels were ``sampled`` from: every label represents as many
    pairs as its weight, and shares are ratios of such sums (Hajek, 1971).

    >>> thresholds = at_thresholds(np.array([0.2, 0.8, 0.9]), np.array([False, True, True]), lambda raw: raw)
    >>> [(one.raw, one.found, round(one.precision.value, 2), one.recall.value) for one in thresholds]
    [(0.2, 3, 0.67, 1.0), (0.8, 2, 1.0, 1.0), (0.9, 1, 1.0, 0.5)]
    """
    drawn = sampled or Sampled.plain(len(raw))
    order = np.argsort(-raw, kind="stable")
    distinct, firsts = np.unique(-raw[order], return_index=True)
    lasts = np.append(firsts[1:], len(raw)) - 1
    rows = np.unique(np.linspace(0, len(lasts) - 1, min(len(lasts), _MOST_THRESHOLDS)).round().astype(int))
    chosen, lasts = -distinct[rows], lasts[rows]
    shares = _with_ends(drawn.weights[order], drawn.strata[order], match[order], lasts)
    of_each = zip(chosen.tolist(), scores(chosen).tolist(), (lasts + 1).tolist(), shares.tolist(), strict=True)
    rising = reversed(list(of_each))
    return tuple(AtThreshold(*place, *(Share(*share) for share in of_place)) for *place, of_place in rising)


def unseen_matches(
    weights: Float[np.ndarray, " labels"], strata: Int[np.ndarray, " labels"], match: Bool[np.ndarray, " labels"]
) -> float:
    """An upper bound on matches in strata without a labelled match, by the rule of three: up to 3 / n of n labels.

    Hanley and Lippman-Hand (1983), applied to the unlabelled pairs that each label represents.

    >>> strata, match = np.array([1, 1, 2, 2, 2, 2]), np.array([True, True, False, False, False, False])
    >>> unseen_matches(np.array([2.0, 2.0, 501.0, 501.0, 501.0, 501.0]), strata, match)
    1500.0
    """
    matches = 0.0
    for stratum in np.unique(strata):
        here = strata == stratum
        if not match[here].any():
            matches += min(3 / int(here.sum()), 1.0) * float((weights[here] - 1).sum())
    return matches


def for_precision(thresholds: Sequence[AtThreshold], target: float) -> AtThreshold | None:
    """The lowest threshold with this precision, which has the highest recall; None without one."""
    return next((one for one in thresholds if one.precision.value >= target), None)


def for_recall(thresholds: Sequence[AtThreshold], target: float) -> AtThreshold | None:
    """The highest threshold with this recall."""
    return next((one for one in reversed(thresholds) if one.recall.value >= target), None)


def for_best_f1(thresholds: Sequence[AtThreshold]) -> AtThreshold:
    """The threshold with the largest F1; among ties, the highest."""
    return max(thresholds, key=lambda one: (one.f1.value, one.raw))


def _with_ends(
    weights: Float[np.ndarray, " labels"],
    strata: Int[np.ndarray, " labels"],
    match: Bool[np.ndarray, " labels"],
    lasts: Int[np.ndarray, " thresholds"],
) -> Float[np.ndarray, "thresholds 3 3"]:
    """Precision, recall and F1, each with both ends of its interval."""
    values = _shares(weights[None], match, lasts)[0]
    resampled = [_shares(counts * weights, match, lasts) for counts in resample_strata(strata, RESAMPLES)]
    # In a resample without a label over the threshold, precision is undefined: the resample is ignored.
    spread = np.nanstd(np.concatenate(resampled), axis=0)
    labels = _counted(np.ones(len(weights)), match, lasts)
    equal = _counted(weights, match, lasts) ** 2 / _counted(weights**2, match, lasts)
    enough = effective_labels(*(figures.ravel() for figures in (values, spread, labels, equal)))
    ends = wilson(values.ravel(), enough).reshape(*values.shape, 2)
    # Matches without a label can only lower recall and F1; the denominator of precision is known.
    denominators = _counted(weights, match, lasts)
    ends[:, 1:, 0] *= (denominators / (denominators + unseen_matches(weights, strata, match)))[:, 1:]
    return np.concatenate([values[:, :, None], ends], axis=2)


def _shares(
    weights: Float[np.ndarray, "resamples labels"],
    match: Bool[np.ndarray, " labels"],
    lasts: Int[np.ndarray, " thresholds"],
) -> Float[np.ndarray, "resamples thresholds 3"]:
    """Precision, recall and F1 of weighted labels, in descending order of raw."""
    hits = np.cumsum(weights * match, axis=1)[:, lasts]
    reaching = np.cumsum(weights, axis=1)[:, lasts]
    matches = (weights @ match)[:, None]
    pairs = (hits, reaching), (hits, np.broadcast_to(matches, hits.shape)), (2 * hits, reaching + matches)
    return np.stack([np.divide(a, b, out=np.full(a.shape, np.nan), where=b > 0) for a, b in pairs], axis=2)


def _counted(
    weights: Float[np.ndarray, " labels"], match: Bool[np.ndarray, " labels"], lasts: Int[np.ndarray, " thresholds"]
) -> Float[np.ndarray, "thresholds 3"]:
    """The total weight of the denominators of precision, recall and F1: labels over the threshold, matches, either."""
    reaching, matches = np.cumsum(weights)[lasts], np.full(len(lasts), weights @ match)
    return np.stack([reaching, matches, reaching + matches - np.cumsum(weights * match)[lasts]], axis=1)


def resample_strata(strata: Int[np.ndarray, " labels"], resamples: int) -> Iterator[Float[np.ndarray, "_some labels"]]:
    """The count of every label in each resample; in blocks, with a fixed seed.

    Of the n labels of a stratum n - 1 are drawn, with weight n / (n - 1): with n draws the spread would be too small
    in small strata (Rao and Wu, 1988). The only label of a stratum is in every resample.

    >>> (block,) = resample_strata(np.array([1, 1, 1, 2]), 200)
    >>> set(block[:, :3].sum(axis=1).round(9).tolist()), set(block[:, 3].tolist())
    ({3.0}, {1.0})
    """
    random = np.random.default_rng(_SEED)
    members = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    for begin in range(0, resamples, _BLOCK):
        counts = np.ones((min(_BLOCK, resamples - begin), len(strata)))
        for rows in members:
            if (n := len(rows)) > 1:
                counts[:, rows] = random.multinomial(n - 1, np.full(n, 1 / n), len(counts)) * (n / (n - 1))
        yield counts


def effective_labels(share: Shares, spread: Shares, labels: Shares, equal: Shares) -> Shares:
    """The size of a simple random sample that would leave a share with the same standard error, its ``spread``.

    Never more than the number of ``labels``. Where all labels agree there is no spread, and the size is ``equal``, the
    effective size of unequal weights: (sum of weights)^2 / sum of squares (Kish, 1965).

    >>> effective_labels(*np.array([[0.5, 0.5, 1.0], [0.1, 0.01, 0.0], [40, 40, 40], [30, 30, 30]])).round().tolist()
    [25.0, 40.0, 30.0]
    """
    effective = np.divide(share * (1 - share), spread**2, out=equal.copy(), where=spread > 1e-9)
    return np.minimum(effective, labels)
