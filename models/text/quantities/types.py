"""A quantity in its normal form."""

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
