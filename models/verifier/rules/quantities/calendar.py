"""Dates, weekdays and clock times: "3rd of May 2024", "2024-05-03", "half past three", "8 in the morning"."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from models.verifier.rules.quantities.numbers import Kind, Number, read_number, touches, word_at
from models.verifier.rules.quantities.types import CLOCK, DATE, HALF_CLOCK, WEEKDAY, Date, Measure, Rational, Word
from models.verifier.rules.quantities.vocabulary import (
    BEFORE_MONTHS,
    BEFORE_YEARS,
    MONTH_NAMES,
    WEEKDAYS,
    WORDLIKE_MONTHS,
)

# The hours from which the parts of a day run for twelve: eight at night is 20:00, and two at night 2:00.
_PARTS: Final = {
    **{"am": 0, "a.m": 0, "a.m.": 0, "pm": 12, "p.m": 12, "p.m.": 12},
    **{"in the morning": 0, "in the afternoon": 12, "in the evening": 13, "at night": 18},
}
# A lone number after other words counts: "take 2 in the morning".
_HOURS_FOLLOW: Final = """
at by before after until till from since to around about is it's it\u2019s
"""
_BEFORE_HOURS: Final = frozenset(_HOURS_FOLLOW.split())
_OCLOCK: Final = frozenset(("o'clock", "o\u2019clock"))
NAMED_TIMES: Final = {"noon": 720, "midday": 720, "midnight": 0}
_PAST: Final = {"half past": 30, "quarter past": 15, "quarter to": -15, "quarter after": 15}


class Moment(NamedTuple):
    """A date, weekday or clock time, and the position after its last word."""

    measure: Measure
    value: Rational | Date
    after: int


def read_moment(words: Sequence[Word], at: int, number: Number | None) -> Moment | None:
    """The date, weekday or clock time that begins at a word, or None. ``number`` is the one that begins there.

    >>> from models.verifier.rules.quantities.types import words
    >>> read_moment(spoken := words("3rd of May 2024"), 0, read_number(spoken, 0)).value
    Date(year=2024, month=5, day=3)
    """
    text = words[at].text
    if text in WEEKDAYS:
        return Moment(WEEKDAY, WEEKDAYS[text], at + 1)
    if text in NAMED_TIMES:
        return Moment(CLOCK, NAMED_TIMES[text], at + 1)
    if text in MONTH_NAMES:
        return _from_month(words, at)
    if (past := _PAST.get(f"{text} {word_at(words, at + 1)}")) is not None:
        return _relative(words, at + 2, past)
    return (
        None
        if number is None
        else _numeric_date(words, at)
        or _time(words, at, number)
        or _from_day(words, number)
        or _year(words, at, number)
    )


def _from_month(words: Sequence[Word], at: int) -> Moment | None:
    month, after = MONTH_NAMES[words[at].text], at + 1
    if word_at(words, after) == "." and len(words[at].text) <= 4:
        after += 1
    year = _year_at(words, after)
    if year is not None:
        return Moment(DATE, Date(year, month), after + 1)
    skipped = after + 1 if word_at(words, after) == "the" else after
    number = read_number(words, skipped) if skipped < len(words) else None
    sure = words[at].text not in WORDLIKE_MONTHS or word_at(words, skipped).isdecimal()
    if number is not None and sure and _is_day(number):
        comma = number.after + 1 if word_at(words, number.after) == "," else number.after
        year = _year_at(words, comma)
        return Moment(DATE, Date(year, month, int(number.value)), number.after if year is None else comma + 1)
    if words[at].text in WORDLIKE_MONTHS and word_at(words, at - 1) not in BEFORE_MONTHS:
        return None
    return Moment(DATE, Date(None, month), after)


def _from_day(words: Sequence[Word], number: Number) -> Moment | None:
    after = number.after
    if not _is_day(number):
        return None
    if word_at(words, after) == "day":
        after += 1
    if word_at(words, after) == "of":
        after += 1
    month = MONTH_NAMES.get(word_at(words, after))
    if month is None:
        return None
    comma = after + 2 if word_at(words, after + 1) == "," else after + 1
    year = _year_at(words, comma)
    return Moment(DATE, Date(year, month, int(number.value)), after + 1 if year is None else comma + 1)


def _numeric_date(words: Sequence[Word], at: int) -> Moment | None:
    """``2024-05-03``, ``31/12/2024``; of ``03/05/2024`` only the year is sure."""
    mark = word_at(words, at + 1)
    if (
        mark not in ("-", "/")
        or word_at(words, at + 3) != mark
        or not all(touches(words, at + step) for step in range(1, 5))
    ):
        return None
    parts = [word_at(words, at + step) for step in (0, 2, 4)]
    if not all(part.isdecimal() and len(part) <= 4 for part in parts):
        return None
    first, second, third = map(int, parts)
    if len(parts[0]) == 4 and 1 <= second <= 12 and 1 <= third <= 31:
        return Moment(DATE, Date(first, second, third), at + 5)
    if len(parts[2]) != 4 or not (1 <= first <= 31 and 1 <= second <= 31 and min(first, second) <= 12):
        return None
    if max(first, second) <= 12 and first != second:
        return Moment(DATE, Date(third), at + 5)
    return Moment(DATE, Date(third, min(first, second), max(first, second)), at + 5)


def _year(words: Sequence[Word], at: int, number: Number) -> Moment | None:
    """A year after "in", "since" and their like."""
    year = _year_at(words, at)
    if year is None or number.after != at + 1 or word_at(words, at - 1) not in BEFORE_YEARS:
        return None
    return Moment(DATE, Date(year), at + 1)


def _time(words: Sequence[Word], at: int, number: Number) -> Moment | None:
    if number.kind is not Kind.CARDINAL or not 0 <= number.value <= 24:
        return None
    hour, minute, after = int(number.value), 0, number.after
    separated = word_at(words, after) == ":" and touches(words, after) and touches(words, after + 1)
    if separated and len(word_at(words, after + 1)) == 2 and word_at(words, after + 1).isdecimal():
        minute, after = int(words[after + 1].text), after + 2
    elif number.value != hour:  # 3.30 pm
        minute = round(100 * (number.value % 1))
        if _of_day(words, after, hour) is None:
            return None
    if minute > 59:
        return None
    after += word_at(words, after) in _OCLOCK
    told = _of_day(words, after, hour)
    if told is not None and (after > number.after or told[1] == after + 1 or _may_be_hour(words, at)):
        return Moment(CLOCK, told[0] * 60 + minute, told[1])
    if after == number.after:
        return None
    return _hour(hour, minute, after, known=len(words[at].text) == 2 and (hour > 12 or words[at].text[0] == "0"))


def _may_be_hour(words: Sequence[Word], at: int) -> bool:
    """True if no word before a number says that it is none of the clock."""
    before = word_at(words, at - 1)
    return not before[:1].isalnum() or before in _BEFORE_HOURS


def _of_day(words: Sequence[Word], at: int, hour: int) -> tuple[int, int] | None:
    """Of an hour on the dial the hour of the day that "p.m." or "at night" makes it, and the position after them."""
    for count in (1, 2, 3) if 1 <= hour <= 12 else ():
        begin = _PARTS.get(" ".join([word.text for word in words[at : at + count]]))
        if begin is not None:
            return (begin + (hour - begin) % 12) % 24, at + count
    return None


def _relative(words: Sequence[Word], at: int, minutes: int) -> Moment | None:
    number = read_number(words, at) if at < len(words) else None
    if number is None or not 1 <= number.value <= 12:
        return None
    told = _of_day(words, number.after, int(number.value))
    if told is not None:
        return Moment(CLOCK, (told[0] * 60 + minutes) % 1440, told[1])
    return Moment(HALF_CLOCK, (int(number.value) * 60 + minutes) % 720, number.after)


def _hour(hour: int, minute: int, after: int, *, known: bool) -> Moment:
    if known:
        return Moment(CLOCK, hour % 24 * 60 + minute, after)
    return Moment(HALF_CLOCK, hour % 12 * 60 + minute, after)


def _is_day(number: Number) -> bool:
    return number.kind is not Kind.FRACTION and number.value.denominator == 1 and 1 <= number.value <= 31


def _year_at(words: Sequence[Word], at: int) -> int | None:
    text = word_at(words, at)
    return int(text) if len(text) == 4 and text.isdecimal() and text[:2] in ("18", "19", "20", "21") else None
