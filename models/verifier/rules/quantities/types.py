"""A quantity in its normal form."""

import re
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

# Exact: integers where they are whole.
Rational = int | Fraction


class Dimension(StrEnum):
    """The dimension that a quantity measures. Quantities of different dimensions say nothing about each other."""

    COUNT = "count"
    ORDINAL = "ordinal"
    RATIO = "ratio"  # percent, fractions and multiples: 50 %, half, 0.5 times
    MONEY = "money"
    DURATION = "duration"
    BYTES = "bytes"
    LENGTH = "length"
    MASS = "mass"
    CLOCK = "clock"
    WEEKDAY = "weekday"
    DATE = "date"
    LABEL = "label"  # names things: section 5, Windows 11


class Comparator(StrEnum):
    """On which side of its value a quantity may lie."""

    EXACTLY = "exactly"
    ABOUT = "about"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    MORE_THAN = "more than"
    LESS_THAN = "less than"


class Date(NamedTuple):
    """A date, with None for what is not said."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


class Measure(NamedTuple):
    """A dimension and the unit of its values.

    Durations are in ``seconds``, calendar ``months`` or ``working days``; money in ISO 4217 codes; clock times in
    ``minutes`` of the day, or of ``half day`` where neither a.m. nor p.m. is said; weekdays are 0 (Monday) to 6.
    Lengths are in ``metres`` or ``inches``, masses in ``grams`` or ``ounces``. Others have one unit.
    """

    dimension: Dimension
    unit: str = ""


class Quantity(NamedTuple):
    """A quantity that a text names at its code points ``start`` to ``end``: a value, or a range up to ``upper``.

    ``counted`` is the stem of what a count counts, or empty.
    """

    start: int
    end: int
    measure: Measure
    value: Rational | Date
    upper: Rational | None = None
    comparator: Comparator = Comparator.EXACTLY
    counted: str = ""


COUNT: Final = Measure(Dimension.COUNT)
ORDINAL: Final = Measure(Dimension.ORDINAL)
RATIO: Final = Measure(Dimension.RATIO)
LABEL: Final = Measure(Dimension.LABEL)
SECONDS: Final = Measure(Dimension.DURATION, "seconds")
MONTHS: Final = Measure(Dimension.DURATION, "months")
WORKING_DAYS: Final = Measure(Dimension.DURATION, "working days")
BYTES: Final = Measure(Dimension.BYTES)
METRES: Final = Measure(Dimension.LENGTH, "metres")
INCHES: Final = Measure(Dimension.LENGTH, "inches")
GRAMS: Final = Measure(Dimension.MASS, "grams")
OUNCES: Final = Measure(Dimension.MASS, "ounces")
CLOCK: Final = Measure(Dimension.CLOCK, "minutes")
HALF_CLOCK: Final = Measure(Dimension.CLOCK, "half day")
WEEKDAY: Final = Measure(Dimension.WEEKDAY)
DATE: Final = Measure(Dimension.DATE)


class Word(NamedTuple):
    """A word in small letters, a number in digits, or one sign, with its code points."""

    text: str
    start: int
    end: int


# Thousands in groups: "1,200", and "1 200" with a space that breaks no line.
_GROUPS: Final = r"\d{1,3}(?:(?:,\d{3})+(?![\d,])|(?:[\u00a0\u2009\u202f]\d{3})+(?!\d))"
# A number is neither part of a name ("v2", "utf8") nor of a chain ("2.3.1").
_NUMBER: Final = rf"(?<![\w.])(?>{_GROUPS}(?:\.\d+)?|\d*\.\d+|\d+)(?!\.?\d)"
# Decades, mobile networks and heights of pictures are names.
_NAME: Final = r"(?<![\w.])(?:(?:1[89]|2[01])\d0s|[2-6]g|(?:240|360|480|576|720|1080|1440|2160|4320)p)\b"
_WORD: Final = re.compile(
    rf"{_NAME}|{_NUMBER}|\d+(?:\.\d+)+|[ap]\.m\b\.?|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\w+|[^\w\s]", re.IGNORECASE
)


def words(text: str) -> list[Word]:
    """The words of a text, in order.

    >>> [word.text for word in words("Pay $1,200.50 by 3rd May.")]
    ['pay', '$', '1,200.50', 'by', '3', 'rd', 'may', '.']
    """
    return [Word(match[0].lower(), *match.span()) for match in _WORD.finditer(text)]
