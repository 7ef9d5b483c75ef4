"""A filter expression as JSON: ``{"and": [{"key": "duration", "op": ">=", "value": 600}, {"not": ...}]}``."""

import dataclasses
from typing import Final, cast

from indexer.errors import FilterInvalid
from indexer.filters.expression import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    OF_NONE,
    OF_SEVERAL,
    OPERATORS,
    And,
    Budget,
    Comparison,
    Expression,
    Field,
    Not,
    Operator,
    Or,
    comparisons,
    too_deep,
)
from indexer.filters.strings import parsed, parsed_field, printed_field
from models.errors import InvalidInput
from models.types import JsonValue

# Characters of all filters of a request that has several.
MAX_REQUEST_CHARACTERS: Final = 4 * MAX_CHARACTERS
_JOINED: Final[dict[str, type[And | Or]]] = {"and": And, "or": Or}


def expression_of(value: object, budget: Budget | None = None) -> Expression:
    """The expression of its JSON form, or of its string, within the limits of a filter. Raises ``FilterInvalid``.

    >>> expression_of({"key": "week", "op": "=", "value": 7}) == expression_of("week = 7")
    True
    """
    budget = budget or Budget()
    return parsed(value, budget) if isinstance(value, str) else _Reader(budget).read(value, "the top", 0)


@dataclasses.dataclass(slots=True)
class FilterBatch:
    """Parses the filters of one request, which share a budget. Equal strings are parsed, and counted, once."""

    limit: int = MAX_REQUEST_CHARACTERS
    characters: int = 0
    parsed: dict[str, Expression] = dataclasses.field(default_factory=dict)

    def expression_of(self, value: object) -> Expression:
        """As the function of that name. Raises ``FilterInvalid``, and ``InvalidInput`` when the budget is spent."""
        if isinstance(value, str) and value in self.parsed:
            return self.parsed[value]
        if self.characters > self.limit:
            raise InvalidInput(
                f"The filters of one request may have {self.limit:,} characters in all.",
                hint="Send several requests, or give each query the same filter.",
                field="filter",
            )
        budget = Budget()
        try:
            expression = expression_of(value, budget)
        finally:
            self.characters += MAX_CHARACTERS - budget.characters
        if isinstance(value, str):
            self.parsed[value] = expression
        return expression


def document_expression_of(value: object) -> Expression:
    """Like :func:`expression_of`, for whole documents. Raises ``FilterInvalid`` for an expression about parts.

    >>> json_of(document_expression_of('tenant = "acme"'))
    {'key': 'tenant', 'op': '=', 'value': 'acme'}
    """
    expression = expression_of(value)
    for each in comparisons(expression):
        if each.field.level == "part":
            raise FilterInvalid(
                "The filter of a key decides of whole documents, and this asks a part",
                each.place,
                "Ask the metadata of documents, or `document.id`.",
            )
    return expression


def json_of(expression: Expression) -> dict[str, JsonValue]:
    """The JSON form of an expression.

    >>> json_of(expression_of('not part.speaker = "agent"'))
    {'not': {'key': 'part.speaker', 'op': '=', 'value': 'agent'}}
    """
    match expression:
        case And(children):
            return {"and": [json_of(child) for child in children]}
        case Or(children):
            return {"or": [json_of(child) for child in children]}
        case Not(child):
            return {"not": json_of(child)}
        case Comparison(field, operator, value):
            named: dict[str, JsonValue] = {"key": printed_field(field), "op": operator}
            if operator in OF_NONE:
                return named
            return named | {"value": list(value) if isinstance(value, tuple) else value}


class _Reader:
    """Recursive descent over a tree of JSON."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def read(self, value: object, place: str, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise too_deep(place)
        if not isinstance(value, dict):
            raise FilterInvalid('An expression is an object: `{"key", "op", "value"}`, or `and`, `or` or `not`', place)
        names = set(value)
        for word in _JOINED:
            if names == {word}:
                return self._joined(word, value[word], place, depth)
        if names == {"not"}:
            return Not(self.read(value["not"], _inner(place, "not"), depth + 1))
        return self._comparison(value, place)

    def _joined(self, word: str, items: object, place: str, depth: int) -> Expression:
        if not isinstance(items, list) or not items:
            raise FilterInvalid(f"`{word}` takes a list of expressions", place)
        places = (_inner(place, f"{word}[{number}]") for number in range(len(items)))
        children = [self.read(item, inner, depth + 1) for item, inner in zip(items, places, strict=True)]
        return _JOINED[word](tuple(children)) if len(children) > 1 else children[0]

    def _comparison(self, value: dict[str, object], place: str) -> Comparison:
        self._budget.take("comparisons", 1, place)
        key, operator = value.get("key"), value.get("op")
        if not isinstance(key, str):
            raise FilterInvalid("A comparison needs a `key`, such as `part.speaker`", place)
        if not isinstance(operator, str) or operator not in OPERATORS:
            raise FilterInvalid(f"A comparison needs an `op`, one of {', '.join(sorted(OPERATORS))}", place)
        expected = {"key", "op"} if operator in OF_NONE else {"key", "op", "value"}
        if set(value) != expected:
            names = ", ".join(sorted(expected))
            raise FilterInvalid(f"A comparison with `{operator}` has {names} and nothing else", place)
        self._budget.take("characters", len(key) + len(operator), place)
        operand = self._operand(operator, cast("JsonValue", value.get("value")), place)
        return Comparison(_field(key, place), cast("Operator", operator), operand, place)

    def _operand(self, operator: str, value: JsonValue, place: str) -> JsonValue | tuple[JsonValue, ...]:
        values: list[JsonValue] = value if isinstance(value, list) else [value]
        if isinstance(value, list) and operator not in OF_SEVERAL:
            raise FilterInvalid(f"`{operator}` takes one value", _inner(place, "value"))
        if not isinstance(value, list) and operator in OF_SEVERAL:
            raise FilterInvalid(f"`{operator}` takes a list of values", _inner(place, "value"))
        self._budget.take("values", len(values) if operator in OF_SEVERAL else 0, place)
        self._budget.take("characters", sum(len(each) if isinstance(each, str) else 1 for each in values), place)
        return tuple(values) if operator in OF_SEVERAL else values[0]


def _field(key: str, place: str) -> Field:
    try:
        return parsed_field(key)
    except FilterInvalid as error:
        raise FilterInvalid(
            f"{key[:80]!r} is no key: put a name with spaces or signs in double quotes", place
        ) from error


def _inner(place: str, step: str) -> str:
    return step if place == "the top" else f"{place}.{step}"
