"""A filter expression as a string: ``duration >= 600 and not team = "B"``.

The grammar, by rising precedence:

    expression = conjunction {"or" conjunction}
    conjunction = term {"and" term}
    term = "not" term | "(" expression ")" | comparison
    comparison = field operator [value]
    field = ["document." | "part."] key {"." key}
    key = a word, or any string in quotes
"""

import json
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple, cast

from indexer.errors import FilterInvalid
from indexer.filters.expression import (
    MAX_DEPTH,
    OF_NONE,
    OF_ONE,
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
    too_deep,
)
from indexer.filters.hints import hint_for_joint, hint_for_operator, hint_for_sign, hint_for_value
from indexer.segments.moments import moment_of
from models.text.checks import unstorable
from models.types import JsonValue

_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<date>\d{4}-\d{2}-\d{2}(?:[Tt][\d:.]+(?:[Zz]|[+-][\d:]+)?)?(?![\w-]))
    | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<word>[^\W\d][\w-]*)
    | (?P<sign><=|>=|!=|[=<>()\[\],.])
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
# Keys that are written in quotes, because the words mean something.
_RESERVED: Final = frozenset({"and", "or", "not", "document", "part", "true", "false", "null"})
_KEY: Final = re.compile(r"[^\W\d][\w-]*")
_CONSTANTS: Final[dict[str, JsonValue]] = {"true": True, "false": False, "null": None}
_AFTER: Final[dict[str, tuple[str, ...]]] = {"contains": ("any", "all"), "starts": ("with",), "is": ("null",)}


def parsed(text: str, budget: Budget | None = None) -> Expression:
    """The tree of a string. Raises ``FilterInvalid``, which says at which character.

    Without a ``budget``, the string may have any length.

    >>> parsed("not week = 7")
    Not(child=Comparison(field=Field(level='document', path=('week',)), operator='=', value=7, place='character 5'))
    """
    parser = _Parser(text, budget or Budget(characters=len(text)))
    expression = parser.expression(0)
    parser.take("end", "`and`, `or` or the end")
    return expression


@lru_cache(64)
def restored(text: str) -> Expression:
    """The tree of a string that :func:`printed` has written. It has no limits: those that were accepted are read."""
    return parsed(text, Budget(sys.maxsize, sys.maxsize, sys.maxsize))


def printed(expression: Expression) -> str:
    """The string of a tree, which reads as an equal tree.

    >>> printed(parsed('team="B" or(not week in [1,2.50])'))
    'team = "B" or not week in [1, 2.5]'
    """
    match expression:
        case Comparison():
            words = [printed_field(expression.field), expression.operator]
            return " ".join(words if expression.operator in OF_NONE else [*words, _value(expression)])
        case Not(child):
            return f"not {_bracketed(child, And, Or)}"
        case And(children):
            return " and ".join(_bracketed(child, And, Or) for child in children)
        case Or(children):
            return " or ".join(_bracketed(child, Or) for child in children)


def printed_field(field: Field) -> str:
    """The spelling of a field.

    >>> printed_field(Field("part", ("call type", "n"))), printed_field(Field("document", ("part",)))
    ('part."call type".n', '"part"')
    """
    if field.level == "id":
        return "document.id"
    first, *rest = field.path
    keys = [_key(first, _RESERVED if field.level == "document" else frozenset()), *map(_key, rest)]
    return ".".join(["part", *keys] if field.level == "part" else keys)


def parsed_field(text: str) -> Field:
    """The field of its spelling. Raises ``FilterInvalid``."""
    parser = _Parser(text, Budget(characters=len(text)))
    field = parser.field()
    parser.take("end", "the end of the key")
    return field


def _key(key: str, reserved: frozenset[str] = frozenset()) -> str:
    return key if _KEY.fullmatch(key) and key not in reserved else _quoted(key)


def _quoted(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _value(comparison: Comparison) -> str:
    values = ", ".join(map(_quoted, comparison.values))
    return f"[{values}]" if comparison.operator in OF_SEVERAL else values


def _bracketed(expression: Expression, *kinds: type[And | Or]) -> str:
    text = printed(expression)
    return f"({text})" if isinstance(expression, kinds) else text


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def place(self) -> str:
        return f"character {self.start + 1}"


class _Parser:
    """Recursive descent over the tokens of a string."""

    def __init__(self, text: str, budget: Budget) -> None:
        budget.take("characters", len(text), f"character {budget.characters + 1}")
        self._text, self._budget = text, budget
        self._token = self._read(0)

    def expression(self, depth: int) -> Expression:
        return self._joined("or", Or, lambda: self._joined("and", And, lambda: self._term(depth)))

    def field(self) -> Field:
        first = self._token
        keys = [self._key()]
        while self._is("sign", "."):
            self._next()
            keys.append(self._key())
        level, is_named = first.text, first.kind == "word" and len(keys) > 1
        if is_named and level == "document" and keys[1:] == ["id"]:
            return Field("id")
        if is_named and level in ("document", "part"):
            return Field("part" if level == "part" else "document", tuple(keys[1:]))
        return Field("document", tuple(keys))

    def take(self, kind: str, wanted: str, text: str | None = None) -> _Token:
        """The present token, of which there must be a kind."""
        token = self._token
        if token.kind != kind or text not in (None, token.text):
            hint = hint_for_joint(token.text) if token.kind == "word" else ""
            raise FilterInvalid(f"{_shown(token)} stands where {wanted} is expected", token.place, hint)
        self._next()
        return token

    def _joined(self, word: str, kind: type[And | Or], read: Callable[[], Expression]) -> Expression:
        children = [read()]
        while self._is("word", word):
            self._next()
            children.append(read())
        return kind(tuple(children)) if len(children) > 1 else children[0]

    def _term(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise too_deep(self._token.place)
        if self._is("word", "not"):
            self._next()
            return Not(self._term(depth + 1))
        if not self._is("sign", "("):
            return self._comparison()
        self._next()
        expression = self.expression(depth + 1)
        self.take("sign", "`and`, `or` or `)`", ")")
        return expression

    def _comparison(self) -> Comparison:
        place = self._token.place
        self._budget.take("comparisons", 1, place)
        field = self.field()
        operator = self._operator(field)
        value: JsonValue | tuple[JsonValue, ...] = None
        if operator in OF_ONE:
            value = self._literal()
        elif operator in OF_SEVERAL:
            value = self._list()
        return Comparison(field, operator, value, place)

    def _operator(self, field: Field) -> Operator:
        token = self._token
        word = token.text
        if token.kind in ("word", "sign"):
            self._next()
            after = _AFTER.get(word, ())
            if self._token.kind == "word" and self._token.text in after:
                word = f"{word} {self._token.text}"
                self._next()
        if word not in OPERATORS or token.kind not in ("word", "sign"):
            hint = hint_for_operator(token.text, printed_field(field)) if token.kind == "word" else ""
            message = f"{_shown(token)} stands where an operator, such as `=`, is expected"
            raise FilterInvalid(message, token.place, hint)
        return cast("Operator", word)

    def _list(self) -> tuple[JsonValue, ...]:
        self.take("sign", "a list, such as `[1, 2]`,", "[")
        values: list[JsonValue] = []
        while not self._is("sign", "]"):
            if values:
                self.take("sign", "`,` or `]`", ",")
            self._budget.take("values", 1, self._token.place)
            values.append(self._literal())
        self._next()
        return tuple(values)

    def _literal(self) -> JsonValue:
        token = self._token
        if token.kind in ("string", "number"):
            self._next()
            return _json(token)
        if token.kind == "date":
            if moment_of(token.text) is None:
                raise FilterInvalid(f"{_shown(token)} is no date of the calendar", token.place)
            self._next()
            return token.text
        if token.kind == "word" and token.text in _CONSTANTS:
            self._next()
            return _CONSTANTS[token.text]
        raise FilterInvalid(
            f"{_shown(token)} stands where a number, a date, true, false, null or a string in double quotes is "
            "expected",
            token.place,
            hint_for_value(token.text),
        )

    def _key(self) -> str:
        token = self._token
        if token.kind == "string":
            self._next()
            key = str(_json(token))
            if reason := unstorable(key):
                raise FilterInvalid(f"A key holds {reason}", token.place)
            return key
        return self.take("word", "a key").text

    def _is(self, kind: str, text: str) -> bool:
        return self._token.kind == kind and self._token.text == text

    def _next(self) -> None:
        self._token = self._read(self._token.start + len(self._token.text))

    def _read(self, at: int) -> _Token:
        match = _TOKEN.match(self._text, at)
        if match is None:
            start = at + len(self._text[at:]) - len(self._text[at:].lstrip())
            sign, place = self._text[start], f"character {start + 1}"
            if sign == '"':
                raise FilterInvalid("The string that begins here has no closing quote", place)
            raise FilterInvalid(f"{sign!r} cannot be read", place, hint_for_sign(sign))
        kind = str(match.lastgroup)
        return _Token(kind, match.group(kind), match.start(kind))


def _json(token: _Token) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(token.text, strict=False))
    except ValueError as error:
        raise FilterInvalid(f"{_shown(token)} is not a {token.kind} of JSON", token.place) from error


def _shown(token: _Token) -> str:
    return "The end" if token.kind == "end" else token.text[:40] if token.kind == "string" else f"`{token.text[:40]}`"
