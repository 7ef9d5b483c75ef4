"""Verdicts: what the second look says of a text, and how its logits become a probability."""

import math
import re
from dataclasses import dataclass
from operator import mul
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float32

from models.text.polarity import is_negated
from models.text.quantities import compare
from models.types import CharSpan

Verdict = Literal["match", "differs", "unrelated"]
# In what a text departs from a phrase; ``topic`` is what ``unrelated`` says already.
Difference = Literal[
    "number", "antonym", "negation", "object", "action", "role", "modality", "condition", "scope", "topic"
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
DIFFERENCES: Final[tuple[Difference, ...]] = get_args(Difference)
OUTPUTS: Final = len(VERDICTS) + len(DIFFERENCES)
# A difference is named from this probability on, and the likeliest in any case.
_NAMED: Final = 0.3
LIKELY: Final = 0.5
_WORD: Final = re.compile(r"[a-z']{4,}")


@dataclass(frozen=True, slots=True)
class Pair:
    """A phrase, a text, and the characters of the text that a search has found, if any."""

    phrase: str
    text: str
    mark: CharSpan | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The calibrated probability that a text says a phrase, the verdict, and in what it differs."""

    probability: float
    verdict: Verdict
    differs: tuple[Difference, ...] = ()

    @property
    def is_likely(self) -> bool:
        """True if a match is more probable than not."""
        return self.probability >= LIKELY


class Evidence(NamedTuple):
    """What a scale weighs: the network's log odds of a match, and what rules see in both texts.

    ``overlap`` is the share of the phrase's longer words in the text. ``contradicted`` and ``met`` are of quantities,
    ``polarity`` of negations; each is 1 or 0. The similarity of the first look is left out: its scale is a mode's own.
    """

    log_odds: float
    overlap: float
    log_odds_overlap: float
    contradicted: float
    met: float
    polarity: float


@dataclass(frozen=True, slots=True)
class Scale:
    """The log odds of a match as a linear function of the evidence."""

    intercept: float
    weights: Evidence

    def probability(self, evidence: Evidence) -> float:
        """The calibrated probability of a match.

        >>> scale = Scale(-1.0, Evidence(2.0, *[0.0] * 5))
        >>> scale.probability(Evidence(0.5, *[0.0] * 5))
        0.5
        """
        log_odds = self.intercept + sum(map(mul, self.weights, evidence))
        return 1 / (1 + math.exp(-log_odds))


# The network alone.
UNSCALED: Final = Scale(0.0, Evidence(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def evidence_of(pair: Pair, log_odds: float) -> Evidence:
    """The evidence of a pair.

    >>> found = evidence_of(Pair("it takes two days", "It never takes three days."), 0.0)
    >>> found.contradicted, found.met, found.polarity
    (1.0, 0.0, 1.0)
    """
    shared = overlap(pair.phrase, pair.text)
    agreement = compare(pair.phrase, pair.text)
    start, end = (pair.mark.start, pair.mark.end) if pair.mark else (0, len(pair.text))
    opposed = is_negated(pair.phrase, 0, len(pair.phrase)) != is_negated(pair.text, start, end)
    return Evidence(
        log_odds,
        shared,
        log_odds * shared,
        float(bool(agreement.contradicted)),
        float(bool(agreement.met)),
        float(opposed),
    )


def overlap(phrase: str, text: str) -> float:
    """The share of the phrase's words of four letters or more that a text has; 0 without such words.

    >>> overlap("cancel my order", "Please cancel it")
    0.5
    """
    words = set(_WORD.findall(phrase.lower()))
    return len(words & set(_WORD.findall(text.lower()))) / len(words) if words else 0.0


def log_odds_of(logits: Float32[np.ndarray, " outputs"]) -> float:
    """The network's own log odds of a match."""
    match, *others = logits[: len(VERDICTS)].astype(np.float64)
    return float(match - np.logaddexp(*others))


def judgement(pair: Pair, logits: Float32[np.ndarray, " outputs"], scale: Scale) -> Judgement:
    """The judgement of a pair from the network's outputs: three logits of verdicts, then those of differences.

    >>> outputs = np.zeros(OUTPUTS, np.float32)
    >>> outputs[1], outputs[5] = 4, 2
    >>> judgement(Pair("two days", "Three days."), outputs, UNSCALED)
    Judgement(probability=0.0177, verdict='differs', differs=('number', 'negation'))
    """
    evidence = evidence_of(pair, log_odds_of(logits))
    probability = round(scale.probability(evidence), 4)
    if probability >= LIKELY:
        return Judgement(probability, "match")
    seen: list[Difference] = ["number"] if evidence.contradicted else []
    if evidence.polarity:
        seen.append("negation")
    if not seen and logits[2] > logits[1]:
        return Judgement(probability, "unrelated")
    return Judgement(probability, "differs", tuple(dict.fromkeys([*seen, *_named(logits[len(VERDICTS) :])])))


def _named(logits: Float32[np.ndarray, " differences"]) -> tuple[Difference, ...]:
    """The likely differences, the likeliest first."""
    shares = np.exp(logits.astype(np.float64) - logits.max())
    shares /= shares.sum()
    order = np.argsort(-shares, kind="stable")
    return tuple(DIFFERENCES[number] for rank, number in enumerate(order) if rank == 0 or shares[number] >= _NAMED)
