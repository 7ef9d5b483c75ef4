"""Numbers in digits and in words: "1,200.5", "twenty-one", "2.5 million", "2 1/2", "two and a half", "3rd"."""

from collections.abc import Sequence
from enum import Enum, auto
from fractions import Fraction
from typing import Final, NamedTuple

from models.verifier.rules.quantities.types import Rational, Word

_TEENS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL: Final = {word: value for value, word in enumerate(_TEENS.split())} | {
    word: 10 * value for value, word in enumerate(_TENS.split(), 2)
}
_ORDINAL_TEENS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth"
)
ORDINALS: Final = {word: value for value, word in enumerate(_ORDINAL_TEENS.split(), 1)} | {
    word[:-1] + "ieth": 10 * value for value, word in enumerate(_TENS.split(), 2)
}
SCALES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# What multiplies a number before it, and is one with "a" before it.
_MULTIPLIERS: Final = {"hundred": 100, "dozen": 12, **SCALES}
_DENOMINATORS: Final = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4} | {
    name: value for word, value in ORDINALS.items() if 3 <= value <= 10 for name in (word, f"{word}s")
}
_SUFFIXES: Final = {"k": 10**3, "mn": 10**6, "bn": 10**9}
SCALE_WORDS: Final = _MULTIPLIERS | _SUFFIXES
SIGNS: Final = {"½": Fraction(1, 2), "¼": Fraction(1, 4), "¾": Fraction(3, 4)}
# What words may hold between groups of digits.
_UNGROUPED: Final = dict.fromkeys(map(ord, ",\u00a0\u2009\u202f"))
_SPOKEN_DIGITS: Final = 3
# A longer row of digits is no number; Python reads no more than 4300.
_MOST_DIGITS: Final = 40
ARTICLES: Final = frozenset(("a", "an"))


class Kind(Enum):
    """The kind of a number by its form."""

    CARDINAL = auto()
    ORDINAL = auto()
    FRACTION = auto()


class Number(NamedTuple):
    """A number, and the position after its last word."""

    value: Rational
    after: int
    kind: Kind = Kind.CARDINAL


def read_number(words: Sequence[Word], at: int) -> Number | None:
    """The number that begins at a word, or None.

    >>> from models.verifier.rules.quantities.types import words
    >>> [read_number(words(text), 0).value for text in ("two hundred and five", "1.2 million", "half a dozen")]
    [205, 1200000, 6]
    >>> read_number(words("three quarters"), 0).value
    Fraction(3, 4)
    """
    number = _digits(words, at) or _fraction(words, at) or _cardinal(words, at) or _article(words, at)
    if number is None or number.kind is not Kind.CARDINAL:
        return number
    return _with_fraction(words, _multiplied(words, number))


def word_at(words: Sequence[Word], at: int) -> str:
    """The word at a position, empty beyond the ends."""
    return words[at].text if 0 <= at < len(words) else ""


def touches(words: Sequence[Word], at: int) -> bool:
    """True if no space is between a word and the one before it."""
    return 0 < at < len(words) and words[at].start == words[at - 1].end


def _digits(words: Sequence[Word], at: int) -> Number | None:
    """``1,200.5``, ``3rd``, ``10k``, ``1/2``, ``2 1/2``."""
    value = _written(words, at)
    if value is None:
        return _written_fraction(words, at)
    if touches(words, at + 1):
        following = words[at + 1].text
        if following in ("st", "nd", "rd", "th"):
            return Number(value, at + 2, Kind.ORDINAL)
        if following in _SUFFIXES:
            return Number(whole(value * _SUFFIXES[following]), at + 2)
    fraction = _written_fraction(words, at)
    if fraction is not None:
        return fraction
    more = _written_fraction(words, at + 1)  # 2 1/2
    if more is not None and value.denominator == 1:
        return more._replace(value=value + more.value, kind=Kind.CARDINAL)
    return Number(whole(value), at + 1)


def _written(words: Sequence[Word], at: int) -> Rational | None:
    """The value of digits that no letter or digit touches from the left, or None."""
    text = word_at(words, at)
    plain = text.translate(_UNGROUPED)
    if len(plain) > _MOST_DIGITS or not plain.isascii() or not plain.replace(".", "", 1).isdecimal():
        return None
    if touches(words, at) and words[at - 1].text[-1].isalnum():
        return None
    return Fraction(plain) if "." in plain else int(plain)


def _written_fraction(words: Sequence[Word], at: int) -> Number | None:
    """``½``, and ``1/2`` to ``3/4``; in other pairs each number stands for itself."""
    text, below = word_at(words, at), word_at(words, at + 2)
    if text in SIGNS:
        return Number(SIGNS[text], at + 1, Kind.FRACTION)
    joined = word_at(words, at + 1) == "/" and touches(words, at + 1) and touches(words, at + 2)
    if not joined or below not in ("2", "3", "4") or word_at(words, at + 3) == "/":
        return None
    above = _written(words, at)
    if above is None or not 0 < above < int(below):
        return None
    return Number(Fraction(above) / int(below), at + 3, Kind.FRACTION)


def _fraction(words: Sequence[Word], at: int) -> Number | None:
    """``half``, ``a quarter``, ``two thirds``, and ``half a dozen`` or ``half a million``, which are cardinal."""
    text = words[at].text
    if text == "half":
        scale = _MULTIPLIERS.get(word_at(words, at + 2)) if word_at(words, at + 1) in ARTICLES else None
        return Number(scale // 2, at + 3) if scale else Number(Fraction(1, 2), at + 1, Kind.FRACTION)
    if text == "quarter":  # of an hour
        quarter = word_at(words, at + 1) == "of" and word_at(words, at + 2) in ARTICLES
        return Number(Fraction(1, 4), at + 1, Kind.FRACTION) if quarter else None
    above = 1 if text in ARTICLES else SMALL.get(text, 0)
    after = at + 2 if word_at(words, at + 1) == "-" else at + 1
    following = word_at(words, after)
    below = _DENOMINATORS.get(following, 0)
    if not 0 < above < below or (above > 1) is not following.endswith("s"):
        return None
    # "a third time" is no fraction, "a third of it" is.
    if text in ARTICLES and following in ORDINALS and word_at(words, after + 1) != "of":
        return None
    return Number(Fraction(above, below), after + 1, Kind.FRACTION)


def _article(words: Sequence[Word], at: int) -> Number | None:
    """``a hundred``, ``a dozen``; the multiplier follows."""
    if words[at].text in ARTICLES and word_at(words, at + 1) in _MULTIPLIERS:
        return _continued(words, at + 1, 1)
    return None


def _cardinal(words: Sequence[Word], at: int) -> Number | None:
    """A number in words, as it is written or spoken: ``one ninety five`` is 195, ``four two seven`` is 427."""
    text = words[at].text
    if text in ORDINALS:
        return Number(ORDINALS[text], at + 1, Kind.ORDINAL)
    if text not in SMALL:
        return None
    digits = at
    while digits - at < _MOST_DIGITS and SMALL.get(word_at(words, digits), 10) < 10:
        digits += 1
    if digits - at >= _SPOKEN_DIGITS:
        return Number(int("".join(str(SMALL[word.text]) for word in words[at:digits])), digits)
    first = _continued(words, at, 0)
    if first.kind is Kind.CARDINAL and 0 < first.value < 100 and SMALL.get(word_at(words, first.after), 0) >= 10:
        second = _continued(words, first.after, 0)
        if second.kind is Kind.CARDINAL and second.value < 100:
            return Number(100 * first.value + second.value, second.after)
    return first


def _continued(words: Sequence[Word], at: int, group: int) -> Number:
    """The longest number in words from a position. ``room`` is what may still be added: below 10 after "twenty"."""
    total, room, largest = 0, 10**15 if not group else 0, 10**15
    while True:
        text = word_at(words, at)
        joined = _joint(words, at, room)
        if joined != at:
            at, text = joined, words[joined].text
        if text in SMALL and SMALL[text] < room and (SMALL[text] or not (total or group)):
            group += SMALL[text]
            room = 10 if SMALL[text] >= 20 else 0
        elif text in ORDINALS and ORDINALS[text] < room and (total or group):
            return Number(total + group + ORDINALS[text], at + 1, Kind.ORDINAL)
        elif text == "hundred" and 0 < group < 100:
            group, room = 100 * group, 100
        elif text in SCALES and group and SCALES[text] < largest:
            total, group, room, largest = total + group * SCALES[text], 0, SCALES[text], SCALES[text]
        else:
            return Number(total + group, at)
        at += 1


def _joint(words: Sequence[Word], at: int, room: int) -> int:
    """The position after the "-" of "twenty-one" or the "and" of "hundred and five", or the same position."""
    text, following = word_at(words, at), word_at(words, at + 1)
    joins = (text == "-" and 0 < room <= 10) or (text == "and" and 100 <= room < 10**15)
    return at + 1 if joins and (SMALL.get(following, room) < room or ORDINALS.get(following, room) < room) else at


def _multiplied(words: Sequence[Word], number: Number) -> Number:
    """``2 million``, ``3 dozen``."""
    scale = _MULTIPLIERS.get(word_at(words, number.after))
    return number if scale is None else Number(whole(number.value * scale), number.after + 1)


def _with_fraction(words: Sequence[Word], number: Number) -> Number:
    """``two and a half``."""
    if word_at(words, number.after) != "and" or number.after + 1 >= len(words):
        return number
    more = _fraction(words, number.after + 1)
    if more is None or more.kind is not Kind.FRACTION or word_at(words, number.after + 1) == "half":
        return number
    return Number(number.value + more.value, more.after)


def whole(value: Rational) -> Rational:
    """An exact value, as an integer where it is whole."""
    return value.numerator if value.denominator == 1 else value
