"""Find the quantities of a text: numbers, shares, amounts, durations, positions, clock times, weekdays, months.

A quantity's value does not depend on how it is written: ``18 months`` and ``a year and a half`` are equal.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from research.training.changes.numerals import WORDS, read, spell_ordinal
from research.training.changes.word_lists import word_list

WEEKDAYS: Final = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS: Final = word_list("January February March April May June July August September October November December")
_CURRENCIES: Final = {"$": "dollar", "£": "pound", "€": "euro"}
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_IN_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_SUFFIXES: Final = {"k": 1_000, "m": 10**6, "million": 10**6, "bn": 10**9, "billion": 10**9, "thousand": 1_000}
_POSITIONS: Final = {spell_ordinal(n): n for n in range(1, 32)}

_DIGITS: Final = r"(?<![\w.,:/#@-])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.,:/#@-])\d{1,6}(?:\.\d{1,2})?"
_SPELLED: Final = rf"\b(?:{'|'.join(WORDS)})(?:(?:-| and | )(?:{'|'.join(WORDS)}))*\b"
_NUMBER: Final = rf"(?:(?:{_DIGITS})(?: (?:thousand|million|billion)\b)?|{_SPELLED})"
_END: Final = r"(?![\w/%@#:-]|[.,]\d)"
_UNITS: Final = "|".join((*_SECONDS, *_IN_MONTHS))
_FORMS: Final = {
    "half": rf"(?P<half>a|an|one) (?P<half_unit>{_UNITS}) and a half",
    "clock": r"(?<![\w.:/-])(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d))?(?: ?(?P<noon>[ap])\.?m\b\.?)",
    "clock24": r"(?<![\w.:/-])(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?![\w:])",
    "share": rf"(?P<share>{_NUMBER})(?: ?%| per cent\b| percent\b)(?!\w)",
    "money": r"(?P<sign>[$£€]) ?(?P<sum>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?: ?(?P<scale>k|m|bn|million|billion|thousand)\b)?(?![\w%]|[.,]\d)",
    "coins": rf"(?P<coins>{_NUMBER}) (?P<currency>dollar|pound|euro)s?\b",
    "span": rf"(?P<span>{_NUMBER})(?P<joint> |-)(?P<unit>{_UNITS})(?P<plural>s?)\b",
    "position": rf"(?P<position>\b\d{{1,2}}(?:st|nd|rd|th)\b|\b(?:{'|'.join(_POSITIONS)})\b)(?!.part(?:y|ies)\b)",
    "weekday": rf"\b(?P<weekday>{'|'.join(WEEKDAYS)})\b",
    "month": rf"\b(?P<month>{'|'.join({*MONTHS} - {'March', 'May'})})\b|(?<=in )(?P<month2>March|May)\b",
    "number": rf"(?P<number>{_NUMBER}){_END}",
}
_ANY: Final = re.compile("|".join(f"(?P<_{name}>{form})" for name, form in _FORMS.items()), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in its unit, where it stands, and in which form it is written."""

    start: int
    end: int
    form: str
    value: Fraction
    unit: str
    written: re.Match[str]


@lru_cache(maxsize=10_000)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities of a text in their order; names, versions and identifiers are none.

    >>> [(str(q.value), q.unit) for q in quantities("50% of $5k by 5 pm, v1.2.3 in eighteen months")]
    [('1/2', 'share'), ('5000', 'dollar'), ('1020', 'clock'), ('18', 'month')]
    """
    read_ones = (_quantity(match) for match in _ANY.finditer(text))
    return tuple(quantity for quantity in read_ones if quantity is not None)


def _quantity(match: re.Match[str]) -> Quantity | None:
    form = next(name for name in _FORMS if match[f"_{name}"] is not None)
    value = _VALUES[form](match)
    return None if value is None else Quantity(match.start(), match.end(), form, *value, match)


def number(words: str) -> Fraction | None:
    """The value of digits or of number words."""
    if words[:1].isdigit():
        digits, _, scale = words.partition(" ")
        return Fraction(digits.replace(",", "")) * _SUFFIXES.get(scale.lower(), 1)
    whole = read(words)
    return None if whole is None else Fraction(whole)


def _of(words: str, scale: Fraction | int, unit: str) -> tuple[Fraction, str] | None:
    value = number(words)
    return None if value is None else (value * scale, unit)


def _duration(words: str, unit: str) -> tuple[Fraction, str] | None:
    unit = unit.lower()
    return _of(words, _SECONDS[unit], "second") if unit in _SECONDS else _of(words, _IN_MONTHS[unit], "month")


def _half(match: re.Match[str]) -> tuple[Fraction, str] | None:
    value = _duration("1", match["half_unit"])
    return value and (value[0] * Fraction(3, 2), value[1])


def _clock(match: re.Match[str]) -> tuple[Fraction, str] | None:
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if not 1 <= hour <= 12:
        return None
    return Fraction((hour % 12 + 12 * (match["noon"].lower() == "p")) * 60 + minute), "clock"


def _position(match: re.Match[str]) -> tuple[Fraction, str]:
    words = match["position"].lower()
    return Fraction(_POSITIONS[words] if words in _POSITIONS else int(words[:-2])), "position"


_VALUES: Final[dict[str, Callable[[re.Match[str]], tuple[Fraction, str] | None]]] = {
    "half": _half,
    "clock": _clock,
    "clock24": lambda m: (Fraction(int(m["hour24"]) * 60 + int(m["minute24"])), "clock"),
    "share": lambda m: _of(m["share"], Fraction(1, 100), "share"),
    "money": lambda m: _of(m["sum"], _SUFFIXES.get((m["scale"] or "").lower(), 1), _CURRENCIES[m["sign"]]),
    "coins": lambda m: _of(m["coins"], 1, m["currency"].lower()),
    "span": lambda m: _duration(m["span"], m["unit"]),
    "position": _position,
    "weekday": lambda m: (Fraction(WEEKDAYS.index(m["weekday"].capitalize())), "weekday"),
    "month": lambda m: (Fraction(MONTHS.index((m["month"] or m["month2"]).capitalize())), "month of the year"),
    "number": lambda m: _of(m["number"], 1, ""),
}
