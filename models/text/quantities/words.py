"""Words of a text, as numbers and units are read from them."""

import re
from typing import Final, NamedTuple


class Word(NamedTuple):
    """A word in small letters, a number in digits, or one sign, with its code points."""

    text: str
    start: int
    end: int


# Thousands in groups: "1,200", and "1 200" with a space that breaks no line.
_GROUPS: Final = r"\d{1,3}(?:(?:,\d{3})+(?![\d,])|(?:[\u00a0\u2009\u202f]\d{3})+(?!\d))"
# A number is neither part of a name ("v2", "utf8") nor of a chain ("2.3.1").
_NUMBER: Final = rf"(?<![\w.])(?>{_GROUPS}(?:\.\d+)?|\d*\.\d+|\d+)(?!\.?\d)"
# Decades, mobile networks and heights of pictures are names.
_NAME: Final = r"(?<![\w.])(?:(?:1[89]|2[01])\d0s|[2-6]g|(?:240|360|480|576|720|1080|1440|2160|4320)p)\b"
_WORD: Final = re.compile(
    rf"{_NAME}|{_NUMBER}|\d+(?:\.\d+)+|[ap]\.m\b\.?|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\w+|[^\w\s]", re.IGNORECASE
)


def words(text: str) -> list[Word]:
    """The words of a text, in order.

    >>> [word.text for word in words("Pay $1,200.50 by 3rd May.")]
    ['pay', '$', '1,200.50', 'by', '3', 'rd', 'may', '.']
    """
    return [Word(match[0].lower(), *match.span()) for match in _WORD.finditer(text)]
