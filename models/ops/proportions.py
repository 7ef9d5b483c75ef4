"""Intervals of shares that samples estimate."""

from statistics import NormalDist
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Float

# The coverage of every interval.
LEVEL: Final = 0.95
Shares: TypeAlias = Float[np.ndarray, " shares"]


def wilson(share: Shares, labels: Shares) -> Float[np.ndarray, "shares 2"]:
    """Both ends of Wilson's interval for a share of that many labels.

    >>> wilson(np.array([0.5, 1.0]), np.array([10.0, 10.0])).round(2).tolist()
    [[0.24, 0.76], [0.72, 1.0]]
    """
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    middle = share + z**2 / (2 * labels)
    reach = z * np.sqrt(share * (1 - share) / labels + z**2 / (4 * labels**2))
    return (np.stack([middle - reach, middle + reach], axis=1) / (1 + z**2 / labels)[:, None]).clip(0, 1)
