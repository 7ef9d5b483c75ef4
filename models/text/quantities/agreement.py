"""Whether two texts agree on their quantities."""

from collections.abc import Sequence
from enum import Enum, auto
from fractions import Fraction
from typing import Final, NamedTuple

from models.text.quantities.reading import quantities
from models.text.quantities.types import (
    HALF_CLOCK,
    MONTHS,
    SECONDS,
    Comparator,
    Date,
    Dimension,
    Quantity,
    Rational,
)

_ABOUT: Final = Fraction(1, 10)
_DAY: Final = 86_400
# Twelve months are 365 or 366 days, and one is 28 to 31.
_MONTH: Final = (28 * _DAY, 31 * _DAY)
_YEAR: Final = (365 * _DAY, 366 * _DAY)
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
    """Whether a text agrees with the quantities of a phrase.

    If the text counts what the phrase counts, its counts of other things say nothing.

    >>> [len(pairs) for pairs in compare("a notice of 18 months", "a year and a half before it ends")]
    [1, 0, 0, 0]
    >>> [len(pairs) for pairs in compare("at least 5 seats for a week", "2 seats")]
    [0, 0, 1, 1]
    >>> [len(pairs) for pairs in compare("three nights", "2 nights for 4 people")]
    [0, 0, 1, 0]
    """
    sides: dict[Relation, list[tuple[Quantity, Quantity]]] = {relation: [] for relation in Relation}
    absent: list[Quantity] = []
    others = quantities(text)
    for quantity in quantities(phrase):
        relation, other = _best(quantity, others)
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
        return _of_dates(left.value, right.value)
    if left.measure.dimension is Dimension.CLOCK:
        left, right = _on_one_dial(left, right)
    if left.measure != right.measure:
        return _of_units(left, right)
    if (left.value, left.upper) == (right.value, right.upper):
        return Relation.CONTRADICTORY if _opposed(left.comparator, right.comparator) else Relation.EQUAL
    if _same_side(left.comparator, right.comparator):
        return Relation.CONTRADICTORY
    return Relation.COMPATIBLE if _overlap(left, right) else Relation.CONTRADICTORY


def _best(quantity: Quantity, others: Sequence[Quantity]) -> tuple[Relation, Quantity | None]:
    """The first of the others that relates best."""
    relations = [(relation(quantity, other), other) for other in others]
    counts_the_same = quantity.counted != "" and any(other.counted == quantity.counted for other in others)
    for wanted in list(Relation)[:3]:
        of_wanted = [other for found, other in relations if found is wanted]
        compared = [other for other in of_wanted if not counts_the_same or other.counted in ("", quantity.counted)]
        if compared:
            return wanted, compared[0]
        if of_wanted and wanted is Relation.EQUAL:
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

    Months and seconds are compatible if they may overlap, and never equal. Other durations are compatible. Amounts in
    different units of another dimension, such as currencies, contradict each other.
    """
    if {left.measure, right.measure} != {MONTHS, SECONDS}:
        known = left.measure.dimension is not Dimension.DURATION
        return Relation.CONTRADICTORY if known else Relation.COMPATIBLE
    return Relation.COMPATIBLE if _overlap(_in_seconds(left), _in_seconds(right)) else Relation.CONTRADICTORY


def _in_seconds(duration: Quantity) -> Quantity:
    if duration.measure == SECONDS:
        return duration
    shortest, longest = _seconds(_number(duration.value)), _seconds(_number(duration.upper or duration.value))
    return duration._replace(measure=SECONDS, value=shortest[0], upper=longest[1])


def _seconds(months: Rational) -> tuple[Rational, Rational]:
    years, rest = divmod(months, 12)
    return years * _YEAR[0] + rest * _MONTH[0], years * _YEAR[1] + rest * _MONTH[1]


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
