"""Is one correlation with the same grades larger than another? Two answers, both one-sided.

Williams' test is the one that the SLICE paper uses, after Graham and Baldwin (2014), "Testing for significance of
increased correlation with human judgment". The paired bootstrap over rows assumes nothing of how scores are
distributed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from models.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Correlations:
    """Pearson's and Spearman's correlation, to six digits."""

    pearson: float
    spearman: float


def correlations(scores: Float[np.ndarray, " rows"], gold: Float[np.ndarray, " rows"]) -> Correlations:
    """Correlations of scores with the gold; ``InvalidInput`` where they are undefined, as between equal values.

    >>> correlations(np.array([0.1, 0.2, 0.4]), np.array([1.0, 2.0, 4.0]))
    Correlations(pearson=1.0, spearman=1.0)
    """
    if len(gold) < 2 or not np.ptp(gold) or not np.ptp(scores):
        raise InvalidInput(
            f"{len(gold)} rows have no correlation: their scores or their grades are all the same.",
            hint="Give more rows, with grades that differ.",
            field="data",
        )
    pearson, spearman = stats.pearsonr(scores, gold).statistic, stats.spearmanr(scores, gold).statistic
    return Correlations(round(float(pearson), 6), round(float(spearman), 6))


RESAMPLES = 10_000
LEVEL = 0.05
_SEED = 13
# Resamples drawn at a time, to bound memory.
_BLOCK = 500


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference by which our Pearson's r exceeds theirs, and whether that can be chance.

    ``williams_t`` and ``williams_p`` are Williams' test. ``bootstrap_lower`` is the one-sided 95 % lower bound of the
    difference, ``bootstrap_positive`` the share of resamples in which ours is larger.
    """

    difference: float
    williams_t: float
    williams_p: float
    bootstrap_lower: float
    bootstrap_positive: float


def compare(
    ours: Float[np.ndarray, " rows"], theirs: Float[np.ndarray, " rows"], gold: Float[np.ndarray, " rows"]
) -> Comparison:
    """Compare two scores of the same rows by their Pearson correlation with the gold.

    >>> gold = np.arange(30.0)
    >>> found = compare(gold + np.tile([0.0, 1.0], 15), gold + np.tile([0.0, 15.0], 15), gold)
    >>> found.difference > 0, found.williams_p < 0.01, found.bootstrap_lower > 0, found.bootstrap_positive
    (True, True, True, 1.0)
    """
    r = np.corrcoef([ours, theirs, gold])
    t, p = williams_test(r[0, 2], r[1, 2], r[0, 1], len(gold))
    differences = bootstrap_differences(ours, theirs, gold)
    return Comparison(
        difference=round(float(r[0, 2] - r[1, 2]), 6),
        williams_t=round(t, 6),
        williams_p=p,
        bootstrap_lower=round(float(np.quantile(differences, LEVEL)), 6),
        bootstrap_positive=float((differences > 0).mean()),
    )


@dataclass(frozen=True, slots=True)
class Gain:
    """Difference by which one mean exceeds another: one-sided 95 % lower bound, share of resamples above 0."""

    difference: float
    lower: float
    positive: float


def mean_gain(ours: Float[np.ndarray, " rows"], theirs: Float[np.ndarray, " rows"]) -> Gain:
    """The gain in the mean of figures of the same rows, with a paired bootstrap over rows.

    >>> mean_gain(np.full(20, 0.75), np.full(20, 0.5))
    Gain(difference=0.25, lower=0.25, positive=1.0)
    """
    differences = ours - theirs
    drawn = np.concatenate([counts @ differences / len(differences) for counts in resample(len(ours), RESAMPLES)])
    return Gain(
        round(float(differences.mean()), 6),
        round(float(np.quantile(drawn, LEVEL)), 6),
        float((drawn > 0).mean()),
    )


def williams_test(ours: float, theirs: float, between: float, rows: int) -> tuple[float, float]:
    """Williams' t with ``rows - 3`` degrees of freedom, and the one-sided p that ours is the larger correlation.

    ``ours`` and ``theirs`` are correlations with the same grades, ``between`` the correlation of the two scores. Where
    the two scores are the same, t is 0.

    >>> t, p = williams_test(0.80, 0.72, 0.89, 26)   # Howell, Statistical Methods for Psychology, 6th edition, p. 262
    >>> round(t, 2), round(2 * p, 3)
    (1.36, 0.187)
    """
    if rows <= 3:
        raise InvalidInput(f"{rows} rows are too few for Williams' test.", hint="Give at least 4.", field="data")
    determinant = 1 - ours**2 - theirs**2 - between**2 + 2 * ours * theirs * between
    spread = 2 * (rows - 1) / (rows - 3) * determinant + (ours + theirs) ** 2 / 4 * (1 - between) ** 3
    # Of the same scores nothing but rounding error is left, above and below.
    t = (ours - theirs) * np.sqrt((rows - 1) * (1 + between) / spread) if spread > 1e-12 else 0.0
    return float(t), float(stats.t.sf(t, rows - 3))


def bootstrap_differences(
    ours: Float[np.ndarray, " rows"],
    theirs: Float[np.ndarray, " rows"],
    gold: Float[np.ndarray, " rows"],
    resamples: int = RESAMPLES,
) -> Float[np.ndarray, " differences"]:
    """Pearson's r of ours less that of theirs in each resample of the rows, the same rows for both.

    Resamples in which one of the two is undefined, as where all drawn grades are equal, are left out.
    """
    differences = np.concatenate(
        [pearsons(counts, ours, gold) - pearsons(counts, theirs, gold) for counts in resample(len(gold), resamples)]
    )
    return differences[np.isfinite(differences)]


def resample(rows: int, resamples: int) -> Iterator[Int[np.ndarray, "resamples rows"]]:
    """Yield, in blocks, how often every row is drawn in each resample, with replacement and a fixed seed.

    >>> [(block.shape, set(block.sum(axis=1).tolist())) for block in resample(4, 600)]
    [((500, 4), {4}), ((100, 4), {4})]
    """
    random = np.random.default_rng(_SEED)
    for begin in range(0, resamples, _BLOCK):
        yield random.multinomial(rows, np.full(rows, 1 / rows), min(_BLOCK, resamples - begin))


def pearsons(
    counts: Int[np.ndarray, "resamples rows"], scores: Float[np.ndarray, " rows"], gold: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, " resamples"]:
    """Pearson's r in each resample; NaN where it is undefined.

    >>> pearsons(np.array([[1, 1, 1], [2, 1, 0], [3, 0, 0]]), np.array([0.1, 0.2, 0.4]), np.array([1.0, 2.0, 4.0]))
    array([ 1.,  1., nan])
    """
    x, y = stats.zscore(scores), stats.zscore(gold)
    drawn = counts / counts.sum(axis=1, keepdims=True)
    mean_x, mean_y = drawn @ x, drawn @ y
    covariances = drawn @ (x * y) - mean_x * mean_y
    variances = (drawn @ x**2 - mean_x**2) * (drawn @ y**2 - mean_y**2)
    # Of equal values nothing but rounding error is left.
    spread = np.sqrt(variances.clip(1e-24))
    return np.where(variances > 1e-24, covariances / spread, np.nan)
