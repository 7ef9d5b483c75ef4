"""The legibility of a page: fonts without a map to Unicode give signs that are no letters."""

import re
import unicodedata
from typing import Final

_GARBAGE: Final = 0.3
_LATIN: Final = re.compile(r"[A-Za-z]")
# In the languages of Europe a third of the letters and more are vowels.
_VOWELS: Final = 0.2
_LETTERS: Final = 100


def unreadable(text: str) -> int:
    """The number of signs without meaning: of private use, control signs, and what has no code.

    >>> unreadable("a\\ue000\\ufffd")
    2
    """
    if text.isprintable() and "\ufffd" not in text:
        return 0
    return sum(
        sign == "\ufffd" or unicodedata.category(sign) in ("Co", "Cn", "Cc") for sign in text if not sign.isspace()
    )


def is_garbage(text: str) -> bool:
    """True if a good part of a text are signs without meaning."""
    signs = sum(not sign.isspace() for sign in text)
    return signs > 0 and unreadable(text) > _GARBAGE * signs


def is_doubtful(text: str) -> bool:
    """True if the Latin letters of a text make no words: hardly a vowel is among letters that were replaced.

    >>> is_doubtful("WKH WHQDQW VKDOO SDB " * 20), is_doubtful("The tenant shall pay. " * 20)
    (True, False)
    """
    letters = _LATIN.findall(unicodedata.normalize("NFD", text))
    return len(letters) >= _LETTERS and sum(letter in "aeiouyAEIOUY" for letter in letters) < _VOWELS * len(letters)


def readable(text: str) -> str:
    """A text without signs that have no meaning."""
    if not unreadable(text):
        return text
    kept = (" " if unreadable(sign) else sign for sign in text)
    return " ".join("".join(kept).split())
