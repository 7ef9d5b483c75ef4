"""Word lists as they are written, in one string, and patterns that find phrases."""

import re
from collections.abc import Iterable
from functools import cache


def word_list(words: str) -> list[str]:
    """The words of a string in their order."""
    return words.split()


@cache
def word_set(words: str) -> frozenset[str]:
    """The different words of a string."""
    return frozenset(words.split())


def any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds any of some phrases, the longest where several begin, and none within a word.

    >>> any_of(["prior to", "prior"]).findall("Prior to the prioress's prior")
    ['Prior to', 'prior']
    """
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return re.compile(rf"(?<![\w'-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w'-])", re.IGNORECASE)
