"""Selection of a window's nuggets (Qin and Van Durme, 2023, section 3.1), and their segments."""

import math

import numpy as np
from jaxtyping import Bool, Float, Int


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


def chunk_ends(punctuation: Bool[np.ndarray, " tokens"], number: int) -> Int[np.ndarray, " nuggets"]:
    """The rule-based selector of section 7.1: the last punctuation mark of each of ``number`` equal chunks.

    From a chunk without punctuation it selects the last token.

    >>> chunk_ends(np.array([False, True, True, False, False, False]), 2).tolist()
    [2, 5]
    """
    bounds = chunk_bounds(len(punctuation), number)
    ends = [_last(punctuation[start:end]) + start for start, end in bounds]
    return np.array(ends, np.int64)


def chunk_bounds(tokens: int, number: int) -> Int[np.ndarray, "chunks 2"]:
    """Half-open ranges of ``number`` chunks of equal length, or one token more.

    >>> chunk_bounds(5, 2).tolist()
    [[0, 2], [2, 5]]
    """
    edges = np.arange(number + 1) * tokens // max(1, number)
    return np.stack([edges[:-1], edges[1:]], axis=1)


def sentence_ends(stops: Bool[np.ndarray, " tokens"]) -> Int[np.ndarray, " nuggets"]:
    """The other rule-based selector: the last token of every sentence, regardless of the ratio.

    Of consecutive stops the last one counts; tokens after the last stop are a sentence, too.

    >>> sentence_ends(np.array([False, True, True, False, True, False])).tolist()
    [2, 4, 5]
    """
    following = np.append(stops[1:], False)
    ends = stops & ~following
    ends[-1:] = True
    return np.flatnonzero(ends)


def segment_starts(nuggets: Int[np.ndarray, " nuggets"]) -> Int[np.ndarray, " nuggets"]:
    """The first token of every nugget's segment, which runs from after the previous nugget to the nugget itself.

    >>> segment_starts(np.array([2, 4, 9])).tolist()
    [0, 3, 5]
    """
    return np.append(0, nuggets[:-1] + 1)[: len(nuggets)]


def _last(marks: Bool[np.ndarray, " tokens"]) -> int:
    positions = np.flatnonzero(marks)
    return int(positions[-1]) if len(positions) else len(marks) - 1
