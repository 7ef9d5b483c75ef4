"""Finding a text whose white space may differ: line ends and columns come and go when a document is converted."""

import re
from bisect import bisect_right
from itertools import accumulate

from models.types import CharSpan


class FoldedText:
    """A text in which every run of white space is one space, and that knows where all of it stood.

    >>> text = "for  a term\\n   of five years"
    >>> FoldedText(text).find("a term of five").of(text)
    'a term\\n   of five'
    >>> FoldedText(text).find("of ten") is None
    True
    """

    def __init__(self, text: str) -> None:
        words = list(re.finditer(r"\S+", text))
        self._folded = " ".join(word[0] for word in words)
        self._originals = [word.start() for word in words]
        # Where each word starts in the folded text.
        self._starts = list(accumulate((len(word[0]) + 1 for word in words[:-1]), initial=0))

    def find(self, quotation: str) -> CharSpan | None:
        """Find the first place in the original text where the wanted text stands, folded too."""
        folded = " ".join(quotation.split())
        start = self._folded.find(folded) if folded else -1
        if start < 0:
            return None
        return CharSpan(self._original(start), self._original(start + len(folded) - 1) + 1)

    def _original(self, position: int) -> int:
        word = bisect_right(self._starts, position) - 1
        return self._originals[word] + position - self._starts[word]
