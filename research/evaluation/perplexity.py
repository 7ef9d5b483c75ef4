"""How well a language model predicts: the exponential of its mean loss a token, and by how much another is better."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32

from research.evaluation.significance import LEVEL, resample

_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class TokenLosses:
    """The loss of every token of every segment, in nats, and which tokens count."""

    losses: Float32[np.ndarray, "segments places"]
    scored: Bool[np.ndarray, "segments places"]

    @property
    def perplexity(self) -> float:
        """Over all tokens that count.

        >>> TokenLosses(np.log(np.array([[2, 8]], np.float32)), np.array([[True, True]])).perplexity
        4.0
        """
        return round(float(np.exp(self.losses[self.scored].mean(dtype=np.float64))), 4)

    def later(self) -> "TokenLosses":
        """The second half of every segment, where the segment itself has told much."""
        half = self.losses.shape[1] // 2
        return TokenLosses(self.losses[:, half:], self.scored[:, half:])


def loss_gain(ours: TokenLosses, theirs: TokenLosses) -> dict[str, float]:
    """By how many nats a token ours is lower, and the one-sided 95 % lower bound (paired bootstrap over segments).

    >>> scored = np.ones((2, 2), bool)
    >>> ours = TokenLosses(np.ones((2, 2), np.float32), scored)
    >>> loss_gain(ours, TokenLosses(ours.losses * 2, scored))
    {'difference': 1.0, 'lower': 1.0}
    """
    differences = np.where(ours.scored, theirs.losses - ours.losses, 0).sum(axis=1, dtype=np.float64)
    tokens = ours.scored.sum(axis=1)
    drawn = [counts @ differences / np.maximum(counts @ tokens, 1) for counts in resample(len(tokens), _RESAMPLES)]
    return {
        "difference": round(float(differences.sum() / tokens.sum()), 6),
        "lower": round(float(np.quantile(np.concatenate(drawn), LEVEL)), 6),
    }
