"""A filter expression as JSON: ``{"and": [{"key": "duration", "op": ">=", "value": 600}, {"not": ...}]}``."""

from typing import Final, cast

from indexer.errors import FilterInvalid
from indexer.filters.expression import (
    MAX_DEPTH,
    OF_NONE,
    OF_SEVERAL,
    OPERATORS,
    And,
    Comparison,
    Expression,
    Field,
    Not,
    Operator,
    Or,
    checked,
    comparisons,
    too_deep,
)
from indexer.filters.strings import parsed, parsed_field, printed_field
from models.types import JsonValue

_JOINED: Final[dict[str, type[And | Or]]] = {"and": And, "or": Or}


def expression_of(value: object) -> Expression:
    """The expression of its JSON form, or of its string. Raises ``FilterInvalid``.

    >>> expression_of({"key": "week", "op": "=", "value": 7}) == expression_of("week = 7")
    True
    """
    return parsed(value) if isinstance(value, str) else checked(_read(value, "the top", 0))


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


def _read(value: object, place: str, depth: int) -> Expression:
    if depth > MAX_DEPTH:
        raise too_deep(place)
    if not isinstance(value, dict):
        raise FilterInvalid('An expression is an object: `{"key", "op", "value"}`, or `and`, `or` or `not`', place)
    names = set(value)
    for word in _JOINED:
        if names == {word}:
            return _joined(word, value[word], place, depth)
    if names == {"not"}:
        return Not(_read(value["not"], _inner(place, "not"), depth + 1))
    return _comparison(value, place)


def _joined(word: str, items: object, place: str, depth: int) -> Expression:
    if not isinstance(items, list) or not items:
        raise FilterInvalid(f"`{word}` takes a list of expressions", place)
    children = [_read(item, _inner(place, f"{word}[{number}]"), depth + 1) for number, item in enumerate(items)]
    return _JOINED[word](tuple(children)) if len(children) > 1 else children[0]


def _comparison(value: dict[str, object], place: str) -> Comparison:
    key, operator = value.get("key"), value.get("op")
    if not isinstance(key, str):
        raise FilterInvalid("A comparison needs a `key`, such as `part.speaker`", place)
    if not isinstance(operator, str) or operator not in OPERATORS:
        raise FilterInvalid(f"A comparison needs an `op`, one of {', '.join(sorted(OPERATORS))}", place)
    expected = {"key", "op"} if operator in OF_NONE else {"key", "op", "value"}
    if set(value) != expected:
        raise FilterInvalid(f"A comparison with `{operator}` has {', '.join(sorted(expected))} and nothing else", place)
    operand = value.get("value")
    if operator in OF_SEVERAL:
        if not isinstance(operand, list):
            raise FilterInvalid(f"`{operator}` takes a list of values", _inner(place, "value"))
        operand = tuple(operand)
    elif isinstance(operand, list):
        raise FilterInvalid(f"`{operator}` takes one value", _inner(place, "value"))
    return Comparison(_field(key, place), cast("Operator", operator), operand, place)  # type: ignore[arg-type]


def _field(key: str, place: str) -> Field:
    try:
        return parsed_field(key)
    except FilterInvalid as error:
        raise FilterInvalid(
            f"{key[:80]!r} is no key: put a name with spaces or signs in double quotes", place
        ) from error


def _inner(place: str, step: str) -> str:
    return step if place == "the top" else f"{place}.{step}"
