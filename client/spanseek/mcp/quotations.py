"""Word-for-word search for a quotation in a text."""

import re

_QUOTES = {"'": "['‘’ʼ]", '"': '["“”„«»]', "-": "[-‐‑–—]"}  # noqa: RUF001  what people write in their place


def occurrences(text: str, quotation: str) -> list[tuple[int, int]]:
    """The places of a quotation. Case, white space, and the forms of quotation marks and dashes make no difference.

    >>> occurrences("The  Rent\\nis due. The rent is due.", "the rent is due")
    [(0, 16), (18, 33)]
    """
    words = ("".join(_pattern(sign) for sign in word) for word in quotation.split())
    pattern = r"\s+".join(words)
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)] if pattern else []


def _pattern(sign: str) -> str:
    same = next((forms for forms in _QUOTES.values() if re.fullmatch(forms, sign)), None)
    return same or re.escape(sign)
