"""A filter expression as a tree: comparisons of fields with values, joined by and, or, not."""

import dataclasses
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, get_args

from indexer.errors import FilterInvalid
from indexer.segments.kinds import Kind, Level, Path, is_number, kind_of
from indexer.segments.moments import moment_of
from models.text.checks import unstorable
from models.types import JsonValue

MAX_DEPTH: Final = 20
MAX_COMPARISONS: Final = 1000
MAX_VALUES: Final = 10_000
MAX_CHARACTERS: Final = 2**16

Ordering = Literal["<", "<=", ">", ">="]
OfOne = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "starts with"]
OfSeveral = Literal["in", "contains any", "contains all"]
OfNone = Literal["exists", "is null"]
Operator: TypeAlias = OfOne | OfSeveral | OfNone

OF_ONE: Final[frozenset[str]] = frozenset(get_args(OfOne))
OF_SEVERAL: Final[frozenset[str]] = frozenset(get_args(OfSeveral))
OF_NONE: Final[frozenset[str]] = frozenset(get_args(OfNone))
OPERATORS: Final = OF_ONE | OF_SEVERAL | OF_NONE
ORDERINGS: Final[frozenset[str]] = frozenset(get_args(Ordering))


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A key of the metadata of documents or of parts, with the keys within its value; or the id of documents."""

    level: Level
    path: Path = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """A field compared with a value; with several for ``in`` and ``contains any`` and ``all``; or with none.

    ``place`` says where it stands in what was sent. Raises ``FilterInvalid`` for a value that the operator cannot have.
    """

    field: Field
    operator: Operator
    value: JsonValue | tuple[JsonValue, ...] = None
    place: str = dataclasses.field(default="", compare=False)

    def __post_init__(self) -> None:
        for value in self.values:
            reason = _unfit(self.operator, value)
            if reason:
                raise FilterInvalid(reason, self.place)

    @property
    def values(self) -> tuple[JsonValue, ...]:
        """The values that the field is compared with."""
        if self.operator in OF_NONE:
            return ()
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def needs(self) -> frozenset[Kind]:
        """The kinds of values of which the field must have one to be comparable; empty if it always is.

        >>> Comparison(Field("document", ("day",)), "<", "2025-01-01").needs
        frozenset({'date'})
        """
        if self.operator in ("contains", "contains any", "contains all"):
            return frozenset({"list"})
        if None in self.values:
            return frozenset()
        if self._orders_dates:
            return frozenset({"date"})
        return frozenset(map(kind_of, self.values))

    @property
    def _orders_dates(self) -> bool:
        is_date = isinstance(self.value, str) and moment_of(self.value) is not None
        return is_date and self.operator in ORDERINGS and self.field.level != "id"


@dataclasses.dataclass(frozen=True, slots=True)
class And:
    """The conjunction of two or more expressions."""

    children: tuple["Expression", ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of two or more expressions."""

    children: tuple["Expression", ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Not:
    """The negation of its child."""

    child: "Expression"


Expression: TypeAlias = Comparison | And | Or | Not


Counted = Literal["characters", "comparisons", "values"]
_LIMITS: Final[dict[Counted, str]] = {
    "characters": f"A filter has at most {MAX_CHARACTERS:,} characters",
    "comparisons": f"A filter has at most {MAX_COMPARISONS:,} comparisons; `in` takes many values in one",
    "values": f"The lists of a filter have at most {MAX_VALUES:,} values in all",
}


@dataclasses.dataclass(slots=True)
class Budget:
    """What a filter may still contain while it is parsed, so that parsing ends where a limit is exceeded."""

    characters: int = MAX_CHARACTERS
    comparisons: int = MAX_COMPARISONS
    values: int = MAX_VALUES

    def take(self, what: Counted, count: int, place: str) -> None:
        """Take some of the budget. Raises ``FilterInvalid`` when it is exceeded."""
        left = getattr(self, what) - count
        setattr(self, what, left)
        if left < 0:
            raise FilterInvalid(_LIMITS[what], place)


def comparisons(expression: Expression) -> Iterator[Comparison]:
    """The comparisons of an expression, in their order."""
    match expression:
        case Comparison():
            yield expression
        case Not(child):
            yield from comparisons(child)
        case And(children) | Or(children):
            for each in children:
                yield from comparisons(each)


def asks_ids_alone(expression: Expression) -> bool:
    """True if an expression asks nothing but the ids of documents: all documents of one id pass it, or none does.

    >>> asks_ids_alone(Comparison(Field("id"), "starts with", "a/"))
    True
    """
    return all(each.field.level == "id" for each in comparisons(expression))


def too_deep(place: str) -> FilterInvalid:
    """The error of an expression in which too many are nested."""
    return FilterInvalid(f"More than {MAX_DEPTH} expressions stand within each other", place)


def _unfit(operator: str, value: JsonValue) -> str | None:
    """The reason for which an operator cannot have a value; None if it can."""
    if isinstance(value, list | dict | tuple):
        return f"`{operator}` compares with a string, a number, true, false or null"
    if isinstance(value, float) and value - value != 0:
        return "A number must be finite"
    if isinstance(value, str) and (reason := unstorable(value)):
        return f"A string holds {reason}"
    if operator in ORDERINGS and not (isinstance(value, str) or is_number(value)):
        return f"`{operator}` orders numbers, strings and dates"
    if operator == "starts with" and not isinstance(value, str):
        return "`starts with` takes a string"
    return None
