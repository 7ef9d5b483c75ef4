"""Agreement of two texts on their quantities."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum, auto
from fractions import Fraction
from typing import Final, NamedTuple

from models.verifier.rules.quantities.reading import quantities
from models.verifier.rules.quantities.types import (
    GRAMS,
    HALF_CLOCK,
    INCHES,
    METRES,
    MONTHS,
    OUNCES,
    RATIO,
    SECONDS,
    Comparator,
    Date,
    Dimension,
    Measure,
    Quantity,
    Rational,
)

_ABOUT: Final = Fraction(1, 10)
_DAY: Final = 86_400
# Twelve months are 365 or 366 days, and one is 28 to 31.
_MONTH: Final = (28 * _DAY, 31 * _DAY)
_YEAR: Final = (365 * _DAY, 366 * _DAY)
# Miles for kilometres are rounded: 5 are 8.
_ROUNDED: Final = Fraction(1, 20)
_METRIC: Final[Mapping[Measure, tuple[Measure, Fraction]]] = {
    INCHES: (METRES, Fraction("0.0254")),
    OUNCES: (GRAMS, Fraction("28.349523125")),
}
# The largest denominator of fractions in words.
_SPOKEN: Final = 10
_HALF_DAY: Final = 720
_UPWARDS: Final = frozenset((Comparator.AT_LEAST, Comparator.MORE_THAN))
_DOWNWARDS: Final = frozenset((Comparator.AT_MOST, Comparator.LESS_THAN))
_STRICT: Final = frozenset((Comparator.LESS_THAN, Comparator.MORE_THAN))


class Relation(Enum):
    """The relation of two quantities."""

    EQUAL = auto()
    COMPATIBLE = auto()  # both can be true: at least 5, and 7
    CONTRADICTORY = auto()
    UNRELATED = auto()  # other dimensions


class Agreement(NamedTuple):
    """The answer of a text to the quantities of a phrase. Every quantity of the phrase is in one of the four fields.

    - ``met``: with an equal one of the text.
    - ``compatible``: with one of the text that can be true as well.
    - ``contradicted``: with the first that is compared; none can be true as well.
    - ``absent``: the text has none of its dimension, or one as large, of what may be another thing.
    """

    met: tuple[tuple[Quantity, Quantity], ...] = ()
    compatible: tuple[tuple[Quantity, Quantity], ...] = ()
    contradicted: tuple[tuple[Quantity, Quantity], ...] = ()
    absent: tuple[Quantity, ...] = ()


def compare(phrase: str, text: str) -> Agreement:
    """Compare a text with the quantities of a phrase.

    If the text counts what the phrase counts, its counts of other things say nothing.

    >>> [len(pairs) for pairs in compare("a notice of 18 months", "a year and a half before it ends")]
    [1, 0, 0, 0]
    >>> [len(pairs) for pairs in compare("at least 5 seats for a week", "2 seats")]
    [0, 0, 1, 1]
    >>> [len(pairs) for pairs in compare("three nights", "2 nights for 4 people")]
    [0, 0, 1, 0]
    >>> [len(pairs) for pairs in compare("3 nights for two people", "2 nights for 3 people")]
    [0, 0, 2, 0]
    """
    sides: dict[Relation, list[tuple[Quantity, Quantity]]] = {relation: [] for relation in Relation}
    absent: list[Quantity] = []
    asked, others = quantities(phrase), quantities(text)
    counted = frozenset(quantity.counted for quantity in asked)
    for quantity in asked:
        relation, other = _best(quantity, others, counted)
        if other is None:
            absent.append(quantity)
        else:
            sides[relation].append((quantity, other))
    met, compatible, contradicted = (tuple(sides[relation]) for relation in list(Relation)[:3])
    return Agreement(met, compatible, contradicted, tuple(absent))


def relation(left: Quantity, right: Quantity) -> Relation:
    """The relation of two quantities; symmetric.

    >>> five, seven = quantities("at least 5 or 7")
    >>> relation(five, seven).name, relation(five, five).name
    ('COMPATIBLE', 'EQUAL')
    """
    if left.measure.dimension is not right.measure.dimension:
        return Relation.UNRELATED
    if isinstance(left.value, Date) or isinstance(right.value, Date):
        found = _of_dates(left.value, right.value)
        apart = {left.comparator, right.comparator} == _STRICT  # before and after one date
        return Relation.CONTRADICTORY if apart and found is not Relation.UNRELATED else found
    if left.measure.dimension is Dimension.CLOCK:
        left, right = _on_one_dial(left, right)
    if left.measure != right.measure:
        return _of_units(left, right)
    if (left.value, left.upper) == (right.value, right.upper) or _is_rounded(left, right) or _is_rounded(right, left):
        return Relation.CONTRADICTORY if _opposed(left.comparator, right.comparator) else Relation.EQUAL
    if _same_side(left.comparator, right.comparator):
        return Relation.CONTRADICTORY
    return Relation.COMPATIBLE if _overlap(left, right) else Relation.CONTRADICTORY


def _best(quantity: Quantity, others: Sequence[Quantity], counted: Collection[str]) -> tuple[Relation, Quantity | None]:
    """The first of the others that relates best. ``counted`` is all that the phrase of the quantity counts."""
    relations = [(relation(quantity, other), other) for other in others]
    counts_the_same = quantity.counted != "" and any(other.counted == quantity.counted for other in others)
    for wanted in list(Relation)[:3]:
        of_wanted = [other for found, other in relations if found is wanted]
        compared = [other for other in of_wanted if not counts_the_same or other.counted in ("", quantity.counted)]
        if compared:
            return wanted, compared[0]
        if wanted is Relation.EQUAL and any(other.counted not in counted for other in of_wanted):
            break  # other words for what is counted, or another thing: three parcels, 3 packages and one parcel
    return Relation.UNRELATED, None


def _of_dates(left: object, right: object) -> Relation:
    """Dates are equal in all that one of them says, and contradict where both say something else."""
    if not (isinstance(left, Date) and isinstance(right, Date)):
        return Relation.UNRELATED
    shared = [(one, other) for one, other in zip(left, right, strict=True) if one is not None and other is not None]
    if not shared:
        return Relation.UNRELATED
    if any(one != other for one, other in shared):
        return Relation.CONTRADICTORY
    fields = min(sum(field is not None for field in date) for date in (left, right))
    return Relation.EQUAL if len(shared) == fields else Relation.COMPATIBLE


def _on_one_dial(left: Quantity, right: Quantity) -> tuple[Quantity, Quantity]:
    """Clock times without their half of the day, if that of one is unknown."""
    if left.measure == right.measure:
        return left, right
    dials = [time._replace(measure=HALF_CLOCK, value=_number(time.value) % _HALF_DAY) for time in (left, right)]
    return dials[0], dials[1]


def _of_units(left: Quantity, right: Quantity) -> Relation:
    """The relation of quantities in different units.

    Months and seconds, miles and kilometres, ounces and grams are compatible if they may overlap, and never equal.
    Other durations are compatible. Amounts in different units of another dimension, such as currencies, contradict
    each other.
    """
    left, right = _converted(left), _converted(right)
    if left.measure == right.measure:
        return Relation.COMPATIBLE if _overlap(left, right) else Relation.CONTRADICTORY
    return Relation.COMPATIBLE if left.measure.dimension is Dimension.DURATION else Relation.CONTRADICTORY


def _converted(quantity: Quantity) -> Quantity:
    """A quantity in seconds, metres or grams, from the least to the most that it may be, if it is in other units."""
    low, high = _number(quantity.value), _number(quantity.upper or quantity.value)
    if quantity.measure == MONTHS:
        return quantity._replace(measure=SECONDS, value=_seconds(low)[0], upper=_seconds(high)[1])
    if quantity.measure not in _METRIC:
        return quantity
    measure, factor = _METRIC[quantity.measure]
    low, high = low * factor * (1 - _ROUNDED), high * factor * (1 + _ROUNDED)
    return quantity._replace(measure=measure, value=low, upper=high)


def _seconds(months: Rational) -> tuple[Rational, Rational]:
    years, rest = divmod(months, 12)
    return years * _YEAR[0] + rest * _MONTH[0], years * _YEAR[1] + rest * _MONTH[1]


def _is_rounded(fraction: Quantity, percentage: Quantity) -> bool:
    """True for a fraction that a percentage says as exactly as its digits can: a third and 33 %, or 33.3 %."""
    exact, rounded = Fraction(_number(fraction.value)), _number(percentage.value)
    spoken = exact.denominator <= _SPOKEN and 100 % exact.denominator != 0
    if fraction.measure != RATIO or not spoken or fraction.upper or percentage.upper:
        return False
    digits = 100 if (100 * rounded).denominator == 1 else 1000
    return abs(exact - rounded) <= Fraction(1, 2 * digits)


def _opposed(left: Comparator, right: Comparator) -> bool:
    return (left in _UPWARDS and right in _DOWNWARDS) or (left in _DOWNWARDS and right in _UPWARDS)


def _same_side(left: Comparator, right: Comparator) -> bool:
    """True if both comparators bound values on the same side, as in "within 30 days" and "within 60"."""
    return any(left in side and right in side for side in (_UPWARDS, _DOWNWARDS))


def _overlap(left: Quantity, right: Quantity) -> bool:
    """Some value lies within the bounds of both."""
    return _reaches(left, right) and _reaches(right, left)


def _reaches(lower: Quantity, upper: Quantity) -> bool:
    """The least value of one is not above the greatest of the other."""
    (low, _, open_low), (_, high, open_high) = _interval(lower), _interval(upper)
    return low is None or high is None or low < high or (low == high and not (open_low or open_high))


def _interval(quantity: Quantity) -> tuple[Rational | None, Rational | None, bool]:
    """The least and the greatest value, None for no bound, and whether the bound itself is left out."""
    low = _number(quantity.value)
    high = low if quantity.upper is None else quantity.upper
    strict = quantity.comparator in _STRICT
    if quantity.comparator in _UPWARDS:
        return low, None, strict
    if quantity.comparator in _DOWNWARDS:
        return None, high, strict
    if quantity.comparator is Comparator.ABOUT:
        return low * (1 - _ABOUT), high * (1 + _ABOUT), False
    return low, high, False


def _number(value: Rational | Date) -> Rational:
    if isinstance(value, Date):
        raise TypeError("a date is no number")
    return value
