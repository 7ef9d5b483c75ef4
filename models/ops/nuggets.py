"""Selection of a window's nuggets (Qin and Van Durme, 2023, section 3.1), and their segments."""

import math

import numpy as np
from jaxtyping import Float, Int


def count(tokens: int, ratio: float) -> int:
    """The number of nuggets of a window of ``tokens`` tokens: ``ceil(n * r)``.

    >>> count(10, 0.25), count(1, 0.05), count(0, 0.25), count(100, 0.07)
    (3, 1, 0, 7)
    """
    # 100 * 0.07 is a little more than 7 in binary.
    return math.ceil(round(tokens * ratio, 9))


def top(scores: Float[np.ndarray, " tokens"], number: int) -> Int[np.ndarray, " nuggets"]:
    """Positions of the ``number`` highest scores, ascending (eq. 3); of ties the earlier ones.

    >>> top(np.array([0.1, 0.9, 0.5, 0.9]), 2).tolist()
    [1, 3]
    """
    return np.sort(np.argsort(-scores, kind="stable")[:number])


def top_apart(scores: Float[np.ndarray, " tokens"], number: int, apart: int) -> Int[np.ndarray, " nuggets"]:
    """Like :func:`top`, with a distance between nuggets: a token closer than ``apart`` to a better one is skipped.

    With ``apart`` at most ``(tokens / number + 1) / 2`` there is always room for all.

    >>> top_apart(np.array([0.1, 0.9, 0.8, 0.7, 0.2, 0.3]), 2, 2).tolist()
    [1, 3]
    """
    if apart < 2:
        return top(scores, number)
    left, chosen = scores.astype(np.float64), []
    for _ in range(number):
        place = int(left.argmax())
        chosen.append(place)
        left[max(0, place - apart + 1) : place + apart] = -np.inf
    return np.sort(np.array(chosen, np.int64))


def segment_starts(nuggets: Int[np.ndarray, " nuggets"]) -> Int[np.ndarray, " nuggets"]:
    """The first token of every nugget's segment, which runs from after the previous nugget to the nugget itself.

    >>> segment_starts(np.array([2, 4, 9])).tolist()
    [0, 3, 5]
    """
    return np.append(0, nuggets[:-1] + 1)[: len(nuggets)]
