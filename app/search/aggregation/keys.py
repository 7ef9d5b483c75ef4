"""Keys of the metadata with what is done with them: ``day:desc``, ``day:week``, ``duration:60,600``."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal, TypeAlias, get_args

from indexer.errors import FilterInvalid
from indexer.filters.expression import Field
from indexer.filters.strings import parsed_field
from indexer.segments.columns import value_key
from indexer.segments.kinds import double, is_number
from indexer.segments.moments import moment_of
from models.errors import InvalidInput
from models.types import JsonValue

Period = Literal["day", "week", "month"]
Scalar: TypeAlias = bool | int | float | str
# Values of different kinds are ordered by a number of their kind.
SortKey: TypeAlias = tuple[int, bool | float | datetime | str]

_NUMBER: Final = r"\s*-?\d+(?:\.\d+)?\s*"
# What `sort` calls the order of the search itself.
_SCORE: Final = "score"
_KEY_HINT: Final = 'Write, for example, `day`, `part.speaker`, `document.id` or `"call type"`.'
# What may stand behind a colon; a key that holds one itself stands in double quotes.
_HINTS: Final = {
    "sort": "Write, for example, `day` or `day:desc`; a key that holds a colon stands in double quotes.",
    "counts": "Write, for example, `day:month`, with day, week or month, or `duration:60,600`, with the borders of "
    "ranges; a key that holds a colon stands in double quotes.",
    "collapse": "A key that holds a colon stands in double quotes.",
    "count_by": "A key that holds a colon stands in double quotes.",
}
_BORDERS: Final = re.compile(rf"{_NUMBER}(?:,{_NUMBER})*")


@dataclass(frozen=True, slots=True)
class Sorting:
    """A field to sort by. Numbers come before dates, and these before other strings."""

    field: Field
    descending: bool = False

    def key_of(self, value: JsonValue) -> SortKey | None:
        """The key that a value is sorted by; for a list that of its first element, None for what has no order.

        >>> Sorting(Field("document", ("n",)), descending=True).key_of([2, 7, None])
        (1, 7.0)
        """
        keys = [key for member in _members(value) if (key := _sort_key(member, self.field)) is not None]
        return (max if self.descending else min)(keys, default=None)


@dataclass(frozen=True, slots=True)
class CountedKey:
    """A field to count by: its values, periods of its dates, or ranges of its numbers between ``borders``."""

    name: str
    field: Field
    period: Period | None = None
    borders: tuple[float, ...] = ()

    def buckets_of(self, value: JsonValue) -> dict[str, Scalar]:
        """The buckets of a value, by a spelling that equal ones have in common; of a list those of its elements.

        A bucket is a value, the first day of a period, or the number of a range.

        >>> CountedKey("day:week", Field("document", ("day",)), "week").buckets_of("2026-10-01T09:30")
        {'"2026-09-28"': '2026-09-28'}
        """
        buckets = (bucket for member in _members(value) if (bucket := self._bucket(member)) is not None)
        return {value_key(bucket): bucket for bucket in buckets}

    def _bucket(self, value: JsonValue) -> Scalar | None:
        if self.borders:
            return bisect_right(self.borders, double(value)) if is_number(value) else None
        if self.period is None:
            return None if isinstance(value, list | dict) else value
        moment = moment_of(value) if isinstance(value, str) else None
        return None if moment is None else first_day(moment.date(), self.period).isoformat()


def first_day(day: date, period: Period) -> date:
    """The first day of the period of a day; weeks begin on Monday.

    >>> str(first_day(date(2026, 10, 1), "week")), str(first_day(date(2026, 10, 9), "month"))
    ('2026-09-28', '2026-10-01')
    """
    if period == "month":
        return day.replace(day=1)
    return date.fromordinal(max(day.toordinal() - day.weekday(), 1)) if period == "week" else day


def sorting_of(text: str | None) -> Sorting | None:
    """The sorting that ``KEY``, ``KEY:asc`` or ``KEY:desc`` names; None for ``score``, and without any.

    Raises ``InvalidInput``, also for ``score`` with an order: the best stand first.
    """
    if text is None or text == _SCORE:
        return None
    key, _, order = text.rpartition(":")
    if order.strip() not in ("asc", "desc"):
        key, order = text, "asc"
    if key.strip() == _SCORE:
        raise InvalidInput(
            f"The order of {_SCORE!r} is always the best first.",
            hint=f'Write `{_SCORE}` alone; a key of the metadata with this name stands in quotes: `"{_SCORE}":desc`.',
            field="sort",
        )
    return Sorting(field_of(key, "sort"), order.strip() == "desc")


def counted_keys(texts: Sequence[str]) -> tuple[CountedKey, ...]:
    """The keys that texts name. Raises ``InvalidInput``."""
    return tuple(map(_counted_key, texts))


def field_of(text: str, option: str) -> Field:
    """The field of its spelling in filters. Raises ``InvalidInput``, which names the option."""
    try:
        return parsed_field(text)
    except FilterInvalid as error:
        raise InvalidInput(
            f"{text!r} is no key of the metadata.",
            hint=_HINTS[option] if ":" in text else _KEY_HINT,
            field=option,
        ) from error


def _counted_key(text: str) -> CountedKey:
    key, colon, by = text.rpartition(":")
    by = by.strip()
    if colon and by in get_args(Period):
        return CountedKey(text, field_of(key, "counts"), by)  # type: ignore[arg-type]
    if not (colon and _BORDERS.fullmatch(by)):
        return CountedKey(text, field_of(text, "counts"))
    borders = tuple(map(float, by.split(",")))
    if list(borders) != sorted(set(borders)):
        raise InvalidInput(
            f"The borders in {text!r} do not rise.", hint="Write, for example, `duration:60,600`.", field="counts"
        )
    return CountedKey(text, field_of(key, "counts"), borders=borders)


def _members(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else [value]


def _sort_key(value: JsonValue, field: Field) -> SortKey | None:
    if isinstance(value, bool):
        return 0, value
    if is_number(value):
        return 1, double(value)
    if not isinstance(value, str):
        return None
    moment = None if field.level == "id" else moment_of(value)
    return (3, value) if moment is None else (2, moment)
