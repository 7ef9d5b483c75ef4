"""ROUGE-1, ROUGE-2 and ROUGE-L (Lin, 2004) by Google's rouge-score, without stemming."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from rouge_score.rouge_scorer import RougeScorer

ROUGES = ("rouge1", "rouge2", "rougeL")


def rouge_scores(texts: Sequence[str], references: Sequence[str]) -> dict[str, Float[np.ndarray, " texts"]]:
    """F1 x 100 of every text, by score.

    >>> scores = rouge_scores(["the cat sat"], ["The cat lay down"])
    >>> [(name, round(float(values[0]), 1)) for name, values in scores.items()]
    [('rouge1', 57.1), ('rouge2', 40.0), ('rougeL', 57.1)]
    """
    scorer = RougeScorer(ROUGES)
    rows = [scorer.score(reference, text) for text, reference in zip(texts, references, strict=True)]
    return {name: 100 * np.array([row[name].fmeasure for row in rows], np.float64) for name in ROUGES}
