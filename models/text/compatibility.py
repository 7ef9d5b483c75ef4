"""Compatibility forms of characters: what an encoder reads instead of ligatures, full width and mathematical letters.

An encoder knows no word in other letters than its vocabulary has. Words are folded in the same way where they are
compared (``models.text.words``); here, offsets have to stay exact.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final
from unicodedata import normalize

import numpy as np
import regex
from jaxtyping import Int

# Not superscripts, subscripts and fractions: their digits would run into those beside them, as in 10².
_FORM: Final = regex.compile(
    r"[\p{dt=font}\p{dt=wide}\p{dt=narrow}\p{dt=initial}\p{dt=medial}\p{dt=final}\p{dt=isolated}\p{dt=circle}"
    r"\p{dt=square}\p{dt=compat}]",
    regex.V1,
)
_WIDTH: Final = regex.compile(r"[\p{dt=wide}\p{dt=narrow}]", regex.V1)


class PlainText:
    """A text as encoders read it, and the characters of the text behind it.

    >>> plain = PlainText("an oﬃce")
    >>> plain.text, plain.spans(np.array([[3, 9], [4, 6]])).tolist()
    ('an office', [[3, 7], [4, 5]])
    """

    def __init__(self, text: str) -> None:
        forms = list(_forms(text))
        self._behind = _behind(forms, len(text)) if forms else None
        self.text = "".join(_pieces(text, forms)) if forms else text

    def spans(self, spans: Int[np.ndarray, "spans 2"]) -> Int[np.ndarray, "spans 2"]:
        """The characters of the text behind spans of what is read, none of which is empty."""
        if self._behind is None or not len(spans):
            return spans
        return np.stack([self._behind[spans[:, 0]], self._behind[spans[:, 1] - 1] + 1], axis=1)


def plain(text: str) -> str:
    """A text as encoders read it.

    >>> plain("Ｓｔｏｐ 𝗺𝘆 ﬁne plan: 10² ½ …")
    'Stop my fine plan: 10² ½ …'
    """
    return PlainText(text).text


def _forms(text: str) -> Iterator[tuple[int, str]]:
    """The places of forms, and what they stand for."""
    for match in () if text.isascii() else _FORM.finditer(text):
        if (folded := _folded(match[0])) != match[0]:
            yield match.start(), folded


@cache
def _folded(form: str) -> str:
    """The letters and digits that a form stands for, or the sign of usual width; another form stays."""
    folded = normalize("NFKC", form)
    is_word = not any(map(str.isspace, folded)) and any(map(str.isalnum, folded))
    return folded if is_word or _WIDTH.match(form) else form


def _pieces(text: str, forms: list[tuple[int, str]]) -> Iterator[str]:
    ends = [0, *(at + 1 for at, _ in forms)]
    for start, (at, folded) in zip(ends, forms, strict=False):
        yield from (text[start:at], folded)
    yield text[ends[-1] :]


def _behind(forms: list[tuple[int, str]], length: int) -> Int[np.ndarray, " characters"]:
    """The character of the text behind every character that is read."""
    sizes = np.ones(length, np.int64)
    sizes[[at for at, _ in forms]] = [len(folded) for _, folded in forms]
    return np.repeat(np.arange(length), sizes)
