"""Verdicts: from the logits of a pair and the evidence of rules to a probability and a judgement."""

import math
from dataclasses import dataclass
from operator import mul
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Float32

from models.verifier.rules.opposites import opposites
from models.verifier.rules.polarity import is_negated
from models.verifier.rules.quantities import compare
from models.verifier.types import DIFFERENCES, LIKELY, VERDICTS, Difference, Judgement, Pair

# A difference is named from this probability on, and the likeliest in any case.
_NAMED: Final = 0.3
# Below this probability a text in which rules and network see no difference is unrelated.
_NEAR_MISS: Final = 0.2
# The network reads pairs that are more similar (raw) than this.
READ: Final = 0.5
# A higher similarity says no more: of near texts the network sees what differs.
_ALIKE: Final = 0.9
# Up to there the network counts the more, by so much for 1.
_RISE: Final = 5.0
# The highest log odds that it is taught.
SUREST: Final = 7.0


class Evidence(NamedTuple):
    """The evidence that a scale weighs.

    ``similarity`` is that of the search (raw), up to 0.9. ``network`` is the network's log odds of a match by how near
    the pair is, and 0 of one that it does not read. ``contradicted`` says that a quantity or an opposite contradicts
    the phrase, ``met`` that a quantity is met; 1 or 0.
    """

    similarity: float
    network: float
    contradicted: float
    met: float


@dataclass(frozen=True, slots=True)
class Scale:
    """The log odds of a match as a linear function of the evidence.

    ``decision_point`` is the similarity (raw) at and above which a match is more probable than not, where nothing else
    is known.
    """

    intercept: float
    weights: Evidence
    decision_point: float

    @property
    def least(self) -> float:
        """The similarity (raw) below which no pair is a likely match, however sure the network is.

        >>> Scale(-14.7, Evidence(19.3, 0.42, -5.6, 0.9), 0.78).least
        0.6221
        """
        slope = self.weights.network * _RISE * SUREST
        needed = -self.intercept - max(0.0, self.weights.met) + slope * READ
        return round(needed / (self.weights.similarity + slope), 4)

    def probability(self, evidence: Evidence) -> float:
        """The calibrated probability of a match.

        >>> Scale(-1.0, Evidence(2.0, 0.0, 0.0, 0.0), 0.5).probability(Evidence(0.5, 0.0, 0.0, 0.0))
        0.5
        """
        log_odds = self.intercept + sum(map(mul, self.weights, evidence))
        return 1 / (1 + math.exp(-log_odds))


# The similarity alone, for weights that come without a scale.
UNSCALED: Final = Scale(-8.0, Evidence(10.0, 0.0, 0.0, 0.0), 0.8)


def nearness(pair: Pair) -> float:
    """The weight of the network for a pair: 0 up to a similarity of 0.5, and 2 from 0.9 on.

    >>> nearness(Pair("a", "b", similarity=0.8)), nearness(Pair("a", "b", similarity=0.5))
    (1.5, 0.0)
    """
    return round(max(0.0, min(pair.similarity, _ALIKE) - READ) * _RISE, 4)


def evidence_of(pair: Pair, log_odds: float) -> Evidence:
    """The evidence of a pair.

    >>> evidence_of(Pair("it takes two days", "It takes three days.", similarity=0.9), log_odds=-2.0)
    Evidence(similarity=0.9, network=-4.0, contradicted=1.0, met=0.0)
    """
    agreement = compare(pair.phrase, pair.text)
    contradicted = bool(agreement.contradicted) or _has_opposite(pair)
    network = log_odds * nearness(pair)
    return Evidence(min(pair.similarity, _ALIKE), network, float(contradicted), float(bool(agreement.met)))


def _has_opposite(pair: Pair) -> bool:
    """True for an opposite in what was found: the sentence around it, in which quantities count, may say much more."""
    return bool(opposites(pair.phrase, pair.text, *pair.marked))


def _contradictions(pair: Pair) -> list[Difference]:
    """The differences of a pair that is contradicted."""
    seen: list[Difference] = ["number"] if compare(pair.phrase, pair.text).contradicted else []
    return [*seen, "antonym"] if _has_opposite(pair) else seen


def log_odds_of(logits: Float32[np.ndarray, " outputs"]) -> float:
    """The network's own log odds of a match."""
    match, *others = logits[: len(VERDICTS)].astype(np.float64)
    return float(match - np.logaddexp(*others))


def judgement(pair: Pair, logits: Float32[np.ndarray, " outputs"] | None, scale: Scale) -> Judgement:
    """The judgement of a pair from the network's outputs: three logits of verdicts, then those of differences.

    Of a pair that the network does not read they are None.

    >>> outputs = np.zeros(13, np.float32)
    >>> outputs[1], outputs[5] = 4, 2
    >>> judgement(Pair("two days", "Three days.", similarity=0.71), outputs, UNSCALED)
    Judgement(probability=0.2891, verdict='differs', differs=('number', 'negation'))
    >>> judgement(Pair("two days", "We sell bread.", similarity=0.3), None, UNSCALED)
    Judgement(probability=0.0067, verdict='unrelated', differs=())
    """
    evidence = evidence_of(pair, 0.0 if logits is None else log_odds_of(logits))
    probability = round(scale.probability(evidence), 4)
    if probability >= LIKELY:
        return Judgement(probability, "match")
    seen = _contradictions(pair) if evidence.contradicted else []
    if is_negated(pair.phrase, 0, len(pair.phrase)) != is_negated(pair.text, *pair.marked):
        seen.append("negation")
    is_other = logits is None or logits[2] > logits[1]
    if is_other and probability < _NEAR_MISS and not _speaks_of_it(seen, evidence, scale):
        return Judgement(probability, "unrelated")
    if logits is None:
        return Judgement(probability, "differs", tuple(seen))
    return Judgement(probability, "differs", tuple(dict.fromkeys([*seen, *_named(logits[len(VERDICTS) :])])))


def _speaks_of_it(seen: list[Difference], evidence: Evidence, scale: Scale) -> bool:
    """True if the differences suggest a text about the same thing; a lone opposite does so only in a likely text."""
    return seen != [] and (seen != ["antonym"] or scale.probability(evidence._replace(contradicted=0.0)) >= _NEAR_MISS)


def _named(logits: Float32[np.ndarray, " differences"]) -> tuple[Difference, ...]:
    """The likely differences, the likeliest first."""
    shares = np.exp(logits.astype(np.float64) - logits.max())
    shares /= shares.sum()
    order = np.argsort(-shares, kind="stable")
    return tuple(DIFFERENCES[number] for rank, number in enumerate(order) if rank == 0 or shares[number] >= _NAMED)
