"""Comparators: what the words around a quantity say of its bounds, as "at least", "not exceed", "or more"."""

from collections.abc import Sequence
from itertools import product
from typing import Final

from models.verifier.rules.quantities.numbers import word_at
from models.verifier.rules.quantities.types import COUNT, Comparator, Dimension, Measure, Word
from models.verifier.rules.quantities.vocabulary import AFTER_COMPARATORS, BEFORE_COMPARATORS, DEADLINES

_LONGEST: Final = 3
_ARTICLES: Final = frozenset(("the", "a", "an"))
_TIMES: Final = frozenset((Dimension.ORDINAL, Dimension.DATE, Dimension.CLOCK, Dimension.WEEKDAY))
# "Shall in no event exceed 5" is at most 5.
_NEGATED: Final = {Comparator.MORE_THAN: Comparator.AT_MOST, Comparator.LESS_THAN: Comparator.AT_LEAST}
_NEGATIONS: Final = frozenset(("not", "never", "no", "nor", "neither", "cannot"))
_STOPS: Final = frozenset(".;:,!?")
# Words before a comparator in which a negation counts.
_REACH: Final = 12


def read_comparator(words: Sequence[Word], at: int, after: int, last: int, measure: Measure) -> Comparator | None:
    """The comparator of the quantity from word ``at`` to before ``after``; the quantity before it ends at ``last``.

    >>> from models.verifier.rules.quantities.types import COUNT
    >>> from models.verifier.rules.quantities.types import words
    >>> str(read_comparator(words("shall not be more than 5"), 5, 6, 0, COUNT))
    'at most'
    """
    return _before(words, at, last, measure) or _after(words, after, measure)


def _before(words: Sequence[Word], at: int, last: int, measure: Measure) -> Comparator | None:
    timed = measure.dimension in _TIMES
    for skipped, count in product((0, 1), range(_LONGEST, 0, -1)):
        first, end = at - skipped - count, at - skipped
        if first < last or (skipped and words[end].text not in _ARTICLES):
            continue
        phrase = " ".join([word.text for word in words[first:end]])
        comparator = BEFORE_COMPARATORS.get(phrase) if count > 1 or not skipped else None
        comparator = comparator or (DEADLINES.get(phrase) if timed else None)
        if comparator is not None:
            return _NEGATED[comparator] if comparator in _NEGATED and _is_negated(words, first) else comparator
    return None


def _after(words: Sequence[Word], after: int, measure: Measure) -> Comparator | None:
    behind = (after, after + 1) if measure is COUNT else (after,)  # "6 files or more"
    for first, count in product(behind, (2, 1)):
        comparator = AFTER_COMPARATORS.get(" ".join([word.text for word in words[first : first + count]]))
        if comparator is not None:
            return comparator
    return None


def _is_negated(words: Sequence[Word], at: int) -> bool:
    for position in range(at - 1, at - 1 - _REACH, -1):
        text = word_at(words, position)
        if not text or text in _STOPS:
            return False
        if text in _NEGATIONS or text.endswith(("n't", "n\u2019t")):
            return True
    return False
