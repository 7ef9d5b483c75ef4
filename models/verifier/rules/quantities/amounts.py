"""Amounts: numbers with their units, as "18-month", "£31,500", "two to three days", "a year and a half"."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from models.verifier.rules.quantities.numbers import (
    ARTICLES,
    SCALE_WORDS,
    Kind,
    Number,
    read_number,
    touches,
    whole,
    word_at,
)
from models.verifier.rules.quantities.types import (
    COUNT,
    LABEL,
    ORDINAL,
    RATIO,
    WORKING_DAYS,
    Dimension,
    Measure,
    Rational,
    Word,
)
from models.verifier.rules.quantities.vocabulary import (
    CLOSE_SMALLER_UNITS,
    CLOSE_UNITS,
    CURRENCIES,
    DURATIONS,
    FILLERS,
    LABELS,
    MONEY_SUFFIXES,
    UNITS,
    WORKING,
    Unit,
)

_RANGES: Final = frozenset(("to", "-", "\u2013", "\u2014", "and", "or"))
# Beside these "one" is a pronoun: "no one", "one of them".
_PRONOUNS: Final = """
no this that which the any each every another new old some not
of another or who that with for is was i you we they
"""
_BEFORE_PRONOUN, _AFTER_PRONOUN = (frozenset(line.split()) for line in _PRONOUNS.strip().split("\n"))
# "The third party" and "first of all" count nothing.
_AFTER_NO_ORDINAL: Final = frozenset(("party", "parties", "person", "of all", "name"))
_BEFORE_NO_ORDINAL: Final = frozenset(("at", "a", "per", "every", "each", "just", "split"))


class Amount(NamedTuple):
    """A value or a range in a unit, and the position after its last word."""

    measure: Measure
    value: Rational
    after: int
    upper: Rational | None = None


class _Factor(NamedTuple):
    """A unit, and the position after its last word."""

    measure: Measure
    factor: Rational
    after: int


def read_amount(words: Sequence[Word], at: int, number: Number | None) -> Amount | None:
    """The amount that begins at a word, or None. ``number`` is the one that begins there.

    >>> from models.verifier.rules.quantities.types import words
    >>> read_amount(spoken := words("two to three days"), 0, read_number(spoken, 0))[1:]
    (172800, 4, 259200)
    """
    if words[at].text in CURRENCIES:
        return _priced(words, at)
    if number is None:
        return _single(words, at)
    match number.kind:
        case Kind.ORDINAL:
            return _ordinal(words, at, number)
        case Kind.FRACTION:
            return _part(words, number)
        case _:
            return _cardinal(words, at, number)


def _priced(words: Sequence[Word], at: int) -> Amount | None:
    number = read_number(words, at + 1) if at + 1 < len(words) else None
    if number is None or number.kind is not Kind.CARDINAL:
        return None
    number = _in_millions(words, number)
    measure = Measure(Dimension.MONEY, CURRENCIES[words[at].text])
    number, upper = _range(words, at + 1, number)
    if upper is None:
        return Amount(measure, number.value, number.after)
    upper = _in_millions(words, upper)
    return Amount(measure, number.value, upper.after, upper.value)


def _in_millions(words: Sequence[Word], number: Number) -> Number:
    scale = MONEY_SUFFIXES.get(word_at(words, number.after)) if touches(words, number.after) else None
    return number if scale is None else Number(whole(number.value * scale), number.after + 1)


def _single(words: Sequence[Word], at: int) -> Amount | None:
    """``a day``, and ``a year and a half``."""
    unit = DURATIONS.get(_stripped(word_at(words, at + 1))) if words[at].text in ARTICLES else None
    if unit is None or word_at(words, at + 1) in ("second", "sec"):
        return None
    return _with_half(words, Amount(unit[0], unit[1], at + 2), unit[1])


def _ordinal(words: Sequence[Word], at: int, number: Number) -> Amount | None:
    following = word_at(words, number.after)
    none = following in _AFTER_NO_ORDINAL or f"{following} {word_at(words, number.after + 1)}" in _AFTER_NO_ORDINAL
    if none or (number.after == at + 1 and word_at(words, at - 1) in _BEFORE_NO_ORDINAL):
        return None
    return Amount(ORDINAL, number.value, number.after)


def _part(words: Sequence[Word], number: Number) -> Amount:
    """``half``, ``three quarters of an hour``, ``half a percent``; half a pound is of money or of a mass."""
    after = number.after
    after += word_at(words, after) == "of"
    after += word_at(words, after) in ARTICLES or word_at(words, after) == "-"
    unit = UNITS.get(_stripped(word_at(words, after)))
    if unit is None or unit[0].dimension is Dimension.MONEY:
        return Amount(RATIO, number.value, number.after)
    return Amount(unit[0], whole(number.value * unit[1]), after + 1)


def _cardinal(words: Sequence[Word], at: int, number: Number) -> Amount | None:
    number, upper = _range(words, at, number)
    last = upper or number
    unit = _unit(words, _repeated(words, last))
    if unit is None:
        if upper is None and _is_no_count(words, at, number):
            return None
        label = word_at(words, at - 1) in LABELS or (word_at(words, at - 1) == "." and word_at(words, at - 2) == "no")
        return Amount(LABEL if label else COUNT, number.value, last.after, None if upper is None else upper.value)
    if upper is not None:
        return Amount(unit.measure, whole(number.value * unit.factor), unit.after, whole(upper.value * unit.factor))
    amount = Amount(unit.measure, whole(number.value * unit.factor), unit.after)
    return _with_smaller(words, _with_half(words, amount, unit.factor), unit.factor)


def _range(words: Sequence[Word], at: int, number: Number) -> tuple[Number, Number | None]:
    """A number and the upper end of the range that it begins, or None: ``two to three``, ``200-300k``."""
    mark, before = word_at(words, number.after), word_at(words, at - 1)
    second = number.after + 1
    if mark not in _RANGES or (mark == "and") is not (before == "between") or before == "from":
        return number, None
    second += word_at(words, second) in CURRENCIES
    upper = read_number(words, second) if second < len(words) else None
    if upper is None or upper.kind is not Kind.CARDINAL or upper.value <= number.value:
        return number, None
    if mark == "or" and upper.value != number.value + 1:
        return number, None
    return _on_scale(number, upper, word_at(words, upper.after - 1)), upper


def _on_scale(number: Number, upper: Number, last: str) -> Number:
    """The lower end, in thousands if the upper is: the 200 of ``200-300k``."""
    scaled = number.value * SCALE_WORDS.get(last, 1)
    return number._replace(value=scaled) if scaled < upper.value else number


def _repeated(words: Sequence[Word], number: Number) -> int:
    """The position after a number that brackets repeat: ``thirty (30)``."""
    after = number.after
    if word_at(words, after) == "(" and word_at(words, after + 2) == ")":
        again = read_number(words, after + 1)
        if again is not None and again.value == number.value:
            return after + 3
    return after


def _unit(words: Sequence[Word], at: int, close: Mapping[str, Unit] = CLOSE_UNITS) -> _Factor | None:
    """The unit after a number; ``close`` are those that no space may part from it."""
    text = _stripped(word_at(words, at))
    if touches(words, at) and text in close:
        return _Factor(*close[text], at + 1)
    if text == "-" and _stripped(word_at(words, at + 1)) in UNITS:
        return _Factor(*UNITS[_stripped(words[at + 1].text)], at + 2)
    if text == "per" and word_at(words, at + 1) == "cent":
        return _Factor(*UNITS["percent"], at + 2)
    if text == "basis" and word_at(words, at + 1) == "points":
        return _Factor(RATIO, Fraction(1, 10_000), at + 2)
    if text in WORKING and word_at(words, at + 1) in ("day", "days"):
        return _Factor(WORKING_DAYS, 1, at + 2)
    if text in FILLERS:
        at, text = at + 1, _stripped(word_at(words, at + 1))
    unit: Unit | None = UNITS.get(text)
    return None if unit is None else _Factor(*unit, at + 1)


def _is_no_count(words: Sequence[Word], at: int, number: Number) -> bool:
    """A pronoun, or a number that letters follow: ``12abc``."""
    following = word_at(words, number.after)
    if touches(words, number.after) and following[0].isalpha():
        return True
    alone = not following[:1].isalnum() or following in _AFTER_PRONOUN
    pronoun = alone or word_at(words, at - 1) in _BEFORE_PRONOUN
    return words[at].text == "one" and number.after == at + 1 and pronoun


def _with_half(words: Sequence[Word], amount: Amount, factor: Rational) -> Amount:
    """``a year and a half``."""
    if word_at(words, amount.after) != "and" or word_at(words, amount.after + 1) not in ARTICLES:
        return amount
    more = read_number(words, amount.after + 1)
    if more is None or more.kind is not Kind.FRACTION or _stripped(word_at(words, more.after)) in DURATIONS:
        return amount
    return amount._replace(value=whole(amount.value + more.value * factor), after=more.after)


def _with_smaller(words: Sequence[Word], amount: Amount, factor: Rational) -> Amount:
    """``two hours and 30 minutes``, ``1h 30m``, ``five dollars fifty cents``."""
    at = amount.after + (word_at(words, amount.after) == "and")
    number = read_number(words, at) if at < len(words) else None
    if number is None or number.kind is not Kind.CARDINAL:
        return amount
    unit = _unit(words, number.after, CLOSE_SMALLER_UNITS)
    if unit is None or unit.measure != amount.measure or unit.factor >= factor:
        return amount
    more = amount._replace(value=whole(amount.value + number.value * unit.factor), after=unit.after)
    return _with_smaller(words, more, unit.factor)


def _stripped(text: str) -> str:
    return text[:-2] if text.endswith(("'s", "\u2019s")) else text
