"""How sure one can be of a share that was estimated from labels, which may have been drawn with unequal chances.

The labels are resampled within their strata. How far the share spreads tells how many labels of a plain random sample
would be as good, and Wilson's interval (1927) is taken for so many. The percentiles of the resamples themselves would
promise certainty where all labels agree: every resample of ten matches is ten matches.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

LEVEL = 0.95
_SEED = 13
# Resamples drawn at a time, to bound memory.
_BLOCK = 250

Shares = Float[np.ndarray, " shares"]


def resample_strata(strata: Int[np.ndarray, " labels"], resamples: int) -> Iterator[Float[np.ndarray, "_some labels"]]:
    """How often every label counts in each resample; in blocks, with a fixed seed.

    Of the n labels of a stratum n - 1 are drawn, and count n / (n - 1) times: with n the spread would be too small
    where strata are (Rao and Wu, 1988). The only label of a stratum is always there.

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
    """How many labels of a plain random sample would leave a share as uncertain as its spread says.

    They are never more than the ``labels`` that there are. Where no label disagrees nothing spreads, and they are what
    unequal weights leave of the labels, ``equal``: (sum of weights)^2 / sum of squares (Kish, 1965).

    >>> effective_labels(*np.array([[0.5, 0.5, 1.0], [0.1, 0.01, 0.0], [40, 40, 40], [30, 30, 30]])).round().tolist()
    [25.0, 40.0, 30.0]
    """
    found = np.divide(share * (1 - share), spread**2, out=equal.copy(), where=spread > 1e-9)
    return np.minimum(found, labels)


def wilson(share: Shares, labels: Shares) -> Float[np.ndarray, "shares 2"]:
    """Both ends of Wilson's interval of a share of so many labels.

    >>> wilson(np.array([0.5, 1.0]), np.array([10.0, 10.0])).round(2).tolist()
    [[0.24, 0.76], [0.72, 1.0]]
    """
    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    middle = share + z**2 / (2 * labels)
    reach = z * np.sqrt(share * (1 - share) / labels + z**2 / (4 * labels**2))
    return (np.stack([middle - reach, middle + reach], axis=1) / (1 + z**2 / labels)[:, None]).clip(0, 1)
