"""Hints at what was meant where an expression cannot be read: habits of other languages, and words with a typo."""

from difflib import get_close_matches
from typing import Final

from indexer.filters.expression import OPERATORS

_OPERATORS: Final = sorted(OPERATORS, reverse=True)
# Operators by their first word; `contains` comes behind `contains all`.
_FIRST: Final = {each.split()[0]: each for each in _OPERATORS}
_WORDS: Final = frozenset({"and", "or", "not", "true", "false", "null", *" ".join(_OPERATORS).split()})
_SIGNS: Final = {"&": "and", "|": "or", "!": "not"}
_OTHER_QUOTES: Final = "'`\u2018\u2019\u201c\u201d"
_QUOTES: Final = 'Strings stand in double quotes: `team = "B"`.'


def hint_for_sign(sign: str) -> str:
    """The sign that is meant where one cannot be read; empty where nothing is known.

    >>> hint_for_sign("&"), hint_for_sign("'")
    ('Write `and`.', 'Strings stand in double quotes: `team = "B"`.')
    """
    if sign in _SIGNS:
        return f"Write `{_SIGNS[sign]}`."
    return _QUOTES if sign in _OTHER_QUOTES else ""


def hint_for_value(text: str) -> str:
    """Advice where a value is expected and something else stands.

    >>> hint_for_value("B"), hint_for_value("=")
    ('Strings stand in double quotes: `team = "B"`.', 'Equality is a single `=`.')
    """
    if text == "=":
        return "Equality is a single `=`."
    return _lower_case(text) or (_QUOTES if text[:1].isalpha() else "")


def hint_for_operator(text: str, key: str) -> str:
    """Advice where an operator is expected behind a key, and something else stands.

    >>> hint_for_operator("not", "team")
    '`not` stands before the comparison: `not team in ["A"]`, `not team is null`.'
    >>> hint_for_operator("contain", "team"), hint_for_operator("type", "call")
    ('Did you mean `contains`?', 'A key with spaces stands in double quotes: `"call type"`.')
    """
    if text in ("not", "is"):
        return f'`not` stands before the comparison: `not {key} in ["A"]`, `not {key} is null`.'
    if text == "between":
        return f"Write `{key} >= 1 and {key} <= 2`."
    if not text[:1].isalpha():
        return ""
    near = [f"Did you mean `{_FIRST[each]}`?" for each in get_close_matches(text, _FIRST, 1, 0.75)]
    return _lower_case(key) or _lower_case(text) or "".join(near) or _spaced(key, text)


def hint_for_joint(text: str) -> str:
    """Advice where ``and`` or ``or`` is expected, and something else stands.

    >>> hint_for_joint("AND")
    'The words of filters are written in lower case: `and`.'
    """
    return _lower_case(text)


def _lower_case(text: str) -> str:
    is_word = text != text.lower() and text.lower() in _WORDS
    return f"The words of filters are written in lower case: `{text.lower()}`." if is_word else ""


def _spaced(key: str, text: str) -> str:
    return f'A key with spaces stands in double quotes: `"{key} {text}"`.' if text not in _WORDS else ""
