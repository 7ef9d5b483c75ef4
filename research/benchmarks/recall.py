"""Recall: the share of the exact answers that an engine found."""

from collections.abc import Hashable, Sequence

# A score this close to a missing answer's is as good: engines round differently.
TIE = 0.001


def recall(
    answers: Sequence[tuple[Hashable, float]], exact: Sequence[tuple[Hashable, float]], tie: float = TIE
) -> float:
    """The share of the exact answers that were found, or in place of which another one of the same score was.

    Scores are exact on both sides: what an engine says of its own answers is not believed.

    >>> recall([("a", 0.9), ("c", 0.7001)], [("a", 0.9), ("b", 0.7)])
    1.0
    >>> recall([("a", 0.9), ("c", 0.6)], [("a", 0.9), ("b", 0.7)])
    0.5
    """
    if not exact:
        return 1.0
    same = {answer for answer, _ in answers} & {answer for answer, _ in exact}
    missing = sorted(score for answer, score in exact if answer not in same)
    others = sorted(score for answer, score in dict(answers).items() if answer not in same)
    return (len(same) + _pairs(missing, others, tie)) / len(exact)


def _pairs(missing: Sequence[float], others: Sequence[float], tie: float) -> int:
    """Count the disjoint pairs, a score of either list, that differ by no more than ``tie``; both lists rise."""
    left, right, pairs = 0, 0, 0
    while left < len(missing) and right < len(others):
        if abs(missing[left] - others[right]) <= tie:
            left, right, pairs = left + 1, right + 1, pairs + 1
        elif missing[left] < others[right]:
            left += 1
        else:
            right += 1
    return pairs


def largest_difference(scores: Sequence[float], exact: Sequence[float]) -> float:
    """The largest difference between the scores of the same rank; an answer too few counts as the whole score.

    >>> round(largest_difference([0.9, 0.7], [0.9, 0.8, 0.1]), 3)
    0.1
    """
    padded = [*scores, *[0.0] * (len(exact) - len(scores))]
    return max((abs(ours - theirs) for ours, theirs in zip(padded, exact, strict=False)), default=0.0)
