"""The quantities of a text."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from models.text.words import stems
from models.verifier.rules.marking import FUNCTION_WORDS
from models.verifier.rules.quantities.amounts import read_amount
from models.verifier.rules.quantities.calendar import NAMED_TIMES, read_moment
from models.verifier.rules.quantities.comparators import read_comparator
from models.verifier.rules.quantities.numbers import ARTICLES, ORDINALS, SIGNS, SMALL, read_number, word_at
from models.verifier.rules.quantities.types import (
    COUNT,
    RATIO,
    Comparator,
    Date,
    Dimension,
    Measure,
    Quantity,
    Rational,
    Word,
    words,
)
from models.verifier.rules.quantities.vocabulary import (
    CURRENCIES,
    DURATIONS,
    MONTH_NAMES,
    MULTIPLES,
    NOTES,
    WEEKDAYS,
)

# A query is compared with many texts.
_REMEMBERED: Final = 1024
_PAIRS: Final = frozenset(("couple", "pair"))
_MANY: Final = {"dozens": 12, "hundreds": 100, "thousands": 1000, "millions": 10**6, "billions": 10**9}
_SEVERAL: Final = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
# Words that a quantity may begin with, if not with a number in digits.
_FIRST: Final = (
    frozenset((*ARTICLES, "half", "quarter", "several"))
    | SMALL.keys()
    | ORDINALS.keys()
    | SIGNS.keys()
    | CURRENCIES.keys()
    | MONTH_NAMES.keys()
    | WEEKDAYS.keys()
    | NAMED_TIMES.keys()
    | MULTIPLES.keys()
    | NOTES.keys()
    | _MANY.keys()
    | _PAIRS
)
# "Double the fee" is a multiple, "double click" is none.
_VERBS: Final = frozenset(("double", "triple"))
_DETERMINERS: Final = frozenset(("the", "of", "what", "that", "my", "our", "its", "their", "your"))
# A count is followed by what it counts, often after an adjective or two, which hyphens may join.
_COUNTED: Final = 5
_NO_NAMES: Final = FUNCTION_WORDS | {
    *("per", "each", "left", "please", "affected", "missing", "not", "then", "when", "starting", "ago", "more", "less"),
    *("only", "also", "too", "there", "here", "now", "again", "available", "remaining", "total", "altogether"),
}
_IDLE_BEFORE_MINUTE: Final = frozenset(("just", "wait", "on", "got", "give", "for"))


class _Read(NamedTuple):
    measure: Measure
    value: Rational | Date
    after: int
    upper: Rational | None = None
    comparator: Comparator = Comparator.EXACTLY


@lru_cache(_REMEMBERED)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities that an English text names, in order; none overlap.

    >>> [(q.value, q.measure.unit, str(q.comparator)) for q in quantities("at least a year and a half, or £31,500")]
    [(18, 'months', 'at least'), (31500, 'GBP', 'exactly')]
    """
    found: list[Quantity] = []
    spoken, at, last = words(text), 0, 0
    while at < len(spoken):
        read = _read(spoken, at, last)
        if read is None:
            at += 1
            continue
        comparator = read_comparator(spoken, at, read.after, last, read.measure) or read.comparator
        after = _repeated(spoken, read)
        ends = spoken[at].start, spoken[after - 1].end
        counted = _counted(spoken, after) if read.measure == COUNT else ""
        found.append(Quantity(*ends, read.measure, read.value, read.upper, comparator, counted))
        at = last = after
    return tuple(found)


def _read(spoken: Sequence[Word], at: int, last: int) -> _Read | None:
    """The quantity that begins at a word; ``last`` is the position after the one before it."""
    text = spoken[at].text
    if text not in _FIRST and not text[-1].isdecimal():
        return None
    number = read_number(spoken, at)
    moment = read_moment(spoken, at, number)
    if moment is not None:
        return _Read(moment.measure, moment.value, moment.after)
    if number is None and _is_idle(spoken, at, last):
        return None
    amount = read_amount(spoken, at, number)
    return _named(spoken, at) if amount is None else _Read(*amount)


def _repeated(spoken: Sequence[Word], read: _Read) -> int:
    """The position after a quantity that brackets repeat: ``ten per cent (10%)``."""
    if word_at(spoken, read.after) != "(" or word_at(spoken, read.after + 1) in ("", "("):
        return read.after
    again = _read(spoken, read.after + 1, 0)
    same = again is not None and again[:2] == read[:2] and word_at(spoken, again.after) == ")"
    return again.after + 1 if again is not None and same else read.after


def _counted(spoken: Sequence[Word], after: int) -> str:
    """The stem of the last word before a count's phrase ends: ``3-star hotel in``, ``2 quiet rooms.``."""
    following = [word.text for word in spoken[after : after + _COUNTED] if word.text != "-"]
    names = [*takewhile(lambda word: word.isalpha() and word not in _NO_NAMES, following)]
    return stems(names[-1:], "english")[0] if names else ""


def _is_idle(spoken: Sequence[Word], at: int, last: int) -> bool:
    """True for a rate, as in ``$5 an hour``, and for a way of speaking, as in ``just a minute``."""
    if spoken[at].text not in ARTICLES or word_at(spoken, at + 1) not in DURATIONS:
        return False
    before = word_at(spoken, at - 1)
    return (
        (at == last > 0) or before == "once" or (word_at(spoken, at + 1) == "minute" and before in _IDLE_BEFORE_MINUTE)
    )


def _named(spoken: Sequence[Word], at: int) -> _Read | None:
    """Quantities with names of their own: ``twice``, ``a couple of days``, ``hundreds of people``, ``a fiver``."""
    text, following = spoken[at].text, word_at(spoken, at + 1)
    if text in MULTIPLES and (text not in _VERBS or following in _DETERMINERS):
        return _Read(RATIO, MULTIPLES[text], at + 1)
    if text in NOTES:
        return _Read(Measure(Dimension.MONEY, "GBP"), NOTES[text], at + 1)
    if text in _MANY:
        return _Read(COUNT, 2 * _MANY[text], at + 1, comparator=Comparator.AT_LEAST)
    if text == "several" and following in _SEVERAL:
        return _Read(COUNT, 2 * _SEVERAL[following], at + 2, comparator=Comparator.AT_LEAST)
    return _pair(spoken, at) if text in _PAIRS else None


def _pair(spoken: Sequence[Word], at: int) -> _Read | None:
    after = at + 1 + (word_at(spoken, at + 1) == "of")
    unit = DURATIONS.get(word_at(spoken, after))
    about = Comparator.ABOUT if spoken[at].text == "couple" else Comparator.EXACTLY
    if unit is not None:
        return _Read(unit[0], 2 * unit[1], after + 1, comparator=about)
    return _Read(COUNT, 2, at + 1, comparator=about) if after == at + 2 else None
