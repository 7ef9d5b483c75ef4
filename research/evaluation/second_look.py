"""Both looks, side by side: on contrast lines, on the sample corpus, and on phrases without a match."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from models.verifier.types import Pair
from models.verifier.verifier import Verifier
from research.evaluation.contrast import ContrastReport, Half, half_of, report
from research.training.verifier_scale import Pairs


@dataclass(frozen=True, slots=True)
class SecondLookFigures:
    """The figures of one half: contrast lines by both looks; phrases of the sample that have a right hit first.

    ``likely`` phrases have a right hit that is likely, and ``wrong`` counts likely hits that are not right.
    ``answered`` of the ``unmatched`` phrases have a likely hit all the same.
    """

    first: ContrastReport
    second: ContrastReport
    phrases: int
    first_by_first: int
    first_by_second: int
    likely: int
    wrong: int
    unmatched: int
    answered: int


def evaluate(verifier: Verifier, pairs: Pairs) -> Mapping[Half, SecondLookFigures]:
    """The figures of the half that chooses, and of the one that is reported."""
    lines = [line for line, _ in pairs.lines]
    first = np.array([[pair.similarity for pair in judged] for _, judged in pairs.lines])
    second = np.array([_probabilities(verifier, judged) for _, judged in pairs.lines])
    halves = [half for half in get_args(Half) if half != "all"]
    figures = {}
    for half in halves:
        sample = [
            (np.array(right), np.array(_probabilities(verifier, found)))
            for phrase, found, right in pairs.sample
            if any(right) and half_of(phrase) == half
        ]
        unmatched = [found for phrase, found in pairs.unmatched if half_of(phrase) == half]
        unmatched += [found for phrase, found, right in pairs.sample if not any(right) and half_of(phrase) == half]
        figures[half] = SecondLookFigures(
            report(lines, first, 0.5, half),
            report(lines, second, 0.5, half),
            len(sample),
            sum(bool(right[0]) for right, _ in sample),
            sum(bool(right[np.argmax(probabilities)]) for right, probabilities in sample),
            sum(bool((right & (probabilities >= 0.5)).any()) for right, probabilities in sample),
            sum(int((~right & (probabilities >= 0.5)).sum()) for right, probabilities in sample),
            len(unmatched),
            sum(any(each.is_likely for each in verifier.judge(found)) for found in unmatched),
        )
    return figures


def _probabilities(verifier: Verifier, pairs: Sequence[Pair]) -> list[float]:
    return [judged.probability for judged in verifier.judge(pairs)]
