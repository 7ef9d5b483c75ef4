"""Numbers of cells as their program shows them: percentages, currencies, thousands and rounding (ECMA-376, 18.8.31).

A format has up to three sections for numbers: of all, or of those that are not negative, of negative ones, and of zero.
"""

import re
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from functools import lru_cache
from math import isfinite
from typing import Final

_GENERAL: Final = "General"
_TOKEN: Final = re.compile(
    r"""
    "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | \[\$(?P<currency>[^\]-]*)[^\]]*\] | \[(?P<condition>[<>=hms][^\]]*)\]
    | \[[^\]]*\] | [_*]. | (?P<digits>[#0?.][#0?.,]*) | (?P<end>;) | (?P<percent>%)
    | (?P<other>General|[A-Za-z@/]) | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LITERALS: Final = ("quoted", "escaped", "currency", "percent", "sign")
# Larger numbers have more digits than their program keeps.
_LARGEST: Final = 1e15


@dataclass(slots=True)
class _Section:
    """One section: what stands before and after the digits, their pattern, and the number of percent signs."""

    before: str = ""
    digits: str | None = None
    after: str = ""
    percents: int = 0
    is_other: bool = field(default=False)

    def add(self, text: str) -> None:
        """Add text that stands as it is."""
        if self.digits is None:
            self.before += text
        else:
            self.after += text


def shown_number(value: float, form: str) -> str | None:
    """A number in a format; None where the format is general or of another kind, such as fractions and dates.

    >>> [shown_number(0.125, "0.0%"), shown_number(-31500, "[$£-809]#,##0.00"), shown_number(-2, '0" m";(0)')]
    ['12.5%', '-£31,500.00', '(2)']
    """
    if form == _GENERAL or not isfinite(value) or abs(value) >= _LARGEST:
        return None
    sections = _sections(form)
    at = 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    section = sections[at]
    if section.is_other:
        return None
    try:
        digits = "" if section.digits is None else _digits(Decimal(repr(abs(value))), section.digits, section.percents)
    except InvalidOperation:  # more digits than any program shows
        return None
    sign = "-" if value < 0 and not at and digits.strip("0.,") else ""
    return f"{sign}{section.before}{digits}{section.after}".strip()


@lru_cache(maxsize=1024)
def _sections(form: str) -> tuple[_Section, ...]:
    sections = [_Section()]
    for token in _TOKEN.finditer(form):
        kind, section = token.lastgroup, sections[-1]
        if kind == "end":
            sections.append(_Section())
        elif kind in _LITERALS:
            section.add(token[kind])
            section.percents += kind == "percent"
        elif kind == "digits" and section.digits is None:
            section.digits = token[0]
        elif kind is not None:
            section.is_other = True
    return tuple(sections[:3])


def _digits(value: Decimal, pattern: str, percents: int) -> str:
    """The digits of a number. ``0`` is always shown, ``#`` and ``?`` if needed; last commas divide by 1,000."""
    scaled = pattern.rstrip(",")
    whole, _, decimals = scaled.partition(".")
    most = sum(decimals.count(place) for place in "0#?")
    with localcontext(prec=60, rounding=ROUND_HALF_UP):
        rounded = value.scaleb(2 * percents - 3 * (len(pattern) - len(scaled))).quantize(Decimal(1).scaleb(-most))
        text = f"{rounded:{',' if ',' in whole else ''}.{most}f}"
    integer, _, fraction = text.partition(".")
    least = whole.count("0")
    integer = "" if integer == "0" and not least else integer.zfill(least)
    kept = fraction.rstrip("0").ljust(decimals.count("0"), "0")
    return f"{integer}.{kept}" if "." in scaled and (kept or "0" in decimals) else integer
