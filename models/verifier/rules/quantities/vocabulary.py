"""English words of units, months, weekdays and comparators."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from models.verifier.rules.quantities.types import (
    BYTES,
    GRAMS,
    INCHES,
    METRES,
    MONTHS,
    OUNCES,
    RATIO,
    SECONDS,
    Comparator,
    Dimension,
    Measure,
    Rational,
)

Unit = tuple[Measure, Rational]


def _table(*rows: tuple[str, Measure, Rational]) -> dict[str, Unit]:
    return {word: (measure, factor) for names, measure, factor in rows for word in names.split()}


DURATIONS: Final = _table(
    ("second seconds sec secs", SECONDS, 1),
    ("minute minutes min mins", SECONDS, 60),
    ("hour hours hr hrs", SECONDS, 3600),
    ("day days", SECONDS, 86_400),
    ("week weeks wk wks", SECONDS, 604_800),
    ("fortnight fortnights", SECONDS, 1_209_600),
    ("month months mth mths", MONTHS, 1),
    ("year years yr yrs", MONTHS, 12),
    ("decade decades", MONTHS, 120),
    ("century centuries", MONTHS, 1200),
)
UNITS: Final[Mapping[str, Unit]] = DURATIONS | _table(
    ("% percent pct percentage", RATIO, Fraction(1, 100)),
    ("times x", RATIO, 1),
    ("byte bytes", BYTES, 1),
    ("kb kib kilobyte kilobytes", BYTES, 2**10),
    ("mb mib megabyte megabytes meg megs", BYTES, 2**20),
    ("gb gib gigabyte gigabytes gig gigs", BYTES, 2**30),
    ("tb tib terabyte terabytes", BYTES, 2**40),
    ("metre metres meter meters", METRES, 1),
    ("km kms kilometre kilometres kilometer kilometers kph", METRES, 1000),
    ("cm cms centimetre centimetres centimeter centimeters", METRES, Fraction(1, 100)),
    ("mm mms millimetre millimetres millimeter millimeters", METRES, Fraction(1, 1000)),
    ("inch inches", INCHES, 1),
    ("foot feet ft", INCHES, 12),
    ("yard yards yd yds", INCHES, 36),
    ("mile miles mph", INCHES, 63_360),
    ("g gram grams gramme grammes", GRAMS, 1),
    ("kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes", GRAMS, 1000),
    ("mg mgs milligram milligrams", GRAMS, Fraction(1, 1000)),
    ("tonne tonnes", GRAMS, 10**6),
    ("ounce ounces oz", OUNCES, 1),
    ("lb lbs", OUNCES, 16),
    ("dollar dollars buck bucks usd", Measure(Dimension.MONEY, "USD"), 1),
    ("pound pounds quid gbp", Measure(Dimension.MONEY, "GBP"), 1),
    ("euro euros eur", Measure(Dimension.MONEY, "EUR"), 1),
    ("cent cents", Measure(Dimension.MONEY, "USD"), Fraction(1, 100)),
    ("pence", Measure(Dimension.MONEY, "GBP"), Fraction(1, 100)),
    ("yen jpy", Measure(Dimension.MONEY, "JPY"), 1),
    ("rupee rupees inr", Measure(Dimension.MONEY, "INR"), 1),
    ("franc francs chf", Measure(Dimension.MONEY, "CHF"), 1),
)
# Units only where nothing is between the number and them: "30s", "2h".
CLOSE_UNITS: Final = _table(
    ("s", SECONDS, 1), ("h", SECONDS, 3600), ("g", BYTES, 2**30), ("p", UNITS["pence"][0], Fraction(1, 100))
)
# "1h 30m" are minutes, which a lone "30m" does not say.
CLOSE_SMALLER_UNITS: Final = CLOSE_UNITS | _table(("m", SECONDS, 60))
CURRENCIES: Final = {"$": "USD", "£": "GBP", "€": "EUR", "¥": "JPY", "₹": "INR"} | {
    code.lower(): code for code in ("USD", "GBP", "EUR", "JPY", "INR", "CHF", "CAD", "AUD")
}
# After a currency sign alone: "$5m".
MONEY_SUFFIXES: Final = {"m": 10**6, "b": 10**9}
NOTES: Final = {"fiver": 5, "tenner": 10}
MULTIPLES: Final[Mapping[str, Rational]] = {"twice": 2, "double": 2, "thrice": 3, "triple": 3}
# Between a number and its unit: "three whole days".
FILLERS: Final = frozenset(("whole", "full", "good", "more", "extra", "calendar", "consecutive", "solid", "further"))
WORKING: Final = frozenset(("working", "business"))
# Numbers after these are names.
_LABELLED: Final = """
section article clause paragraph exhibit schedule annex appendix chapter page line step version release build number no
room flat gate ticket invoice issue item level tier phase option port error code type model rule form #
windows win python java node ios android
"""
LABELS: Final = frozenset(_LABELLED.split())
_WEEK: Final = "monday tuesday wednesday thursday friday saturday sunday"
_SHORT_DAYS: Final = {"tues": 1, "thurs": 3, "fri": 4}
WEEKDAYS: Final = {name: day for day, word in enumerate(_WEEK.split()) for name in (word, f"{word}s")} | _SHORT_DAYS
_YEAR: Final = "january february march april may june july august september october november december"
MONTH_NAMES: Final = {"sept": 9} | {
    name: month for month, word in enumerate(_YEAR.split(), 1) for name in (word, word[:3])
}
# Months that are words of their own need a number in digits or one of the next words beside them.
WORDLIKE_MONTHS: Final = frozenset(("may", "march", "mar", "jan", "sep", "dec", "jun", "apr"))
_BEFORE_MONTHS: Final = """
in of by since until till from last next early late mid before after during
"""
BEFORE_MONTHS: Final = frozenset(_BEFORE_MONTHS.split())
BEFORE_YEARS: Final = BEFORE_MONTHS | {"year", "to", "through"}


def _phrases(table: Mapping[Comparator, str]) -> Mapping[str, Comparator]:
    return {phrase: comparator for comparator, phrases in table.items() for phrase in phrases.split("|")}


BEFORE_COMPARATORS: Final = _phrases(
    {
        Comparator.AT_LEAST: "at least|no less than|not less than|no fewer than|not fewer than|minimum of|minimum",
        Comparator.AT_MOST: "at most|up to|no more than|not more than|maximum of|maximum|no later than|not later than"
        "|no longer than|capped at|limited to|cap of|limit of|within",
        Comparator.MORE_THAN: "more than|over|above|exceed|exceeds|exceeding|exceeded|greater than|longer than"
        "|larger than|bigger than|upwards of|in excess of",
        Comparator.LESS_THAN: "less than|under|below|fewer than|shorter than|smaller than|nearly|almost",
        Comparator.ABOUT: "about|around|roughly|approximately|approx|circa|some|like|maybe|~",
    }
)
# Before dates, times, weekdays and ordinals alone.
DEADLINES: Final[Mapping[str, Comparator]] = {
    "by": Comparator.AT_MOST,
    "until": Comparator.AT_MOST,
    "on or before": Comparator.AT_MOST,
    "before": Comparator.LESS_THAN,
    "before and after": Comparator.EXACTLY,
    "before or after": Comparator.EXACTLY,
    "since": Comparator.AT_LEAST,
    "after": Comparator.MORE_THAN,
}
AFTER_COMPARATORS: Final = _phrases(
    {
        Comparator.AT_LEAST: "or more|or longer|or later|at least|minimum|+|and over|and above",
        Comparator.AT_MOST: "or less|or fewer|or under|at most|maximum|max|tops|or earlier",
        Comparator.ABOUT: "or so|ish|give or",
    }
)
