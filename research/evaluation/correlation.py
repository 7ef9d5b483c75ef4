"""Pearson's and Spearman's correlation of scores with what people said."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
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
            f"No correlation can be told from {len(gold)} rows whose scores or grades are all the same.",
            hint="Give more rows, with grades that differ.",
            field="data",
        )
    pearson, spearman = stats.pearsonr(scores, gold).statistic, stats.spearmanr(scores, gold).statistic
    return Correlations(round(float(pearson), 6), round(float(spearman), 6))
