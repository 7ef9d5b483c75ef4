"""Queries of words: words, prefixes and phrases."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import regex

from models.errors import InvalidInput
from models.folding import words

_CLAUSE: Final = regex.compile(r"[\"“”](?P<phrase>[^\"“”]*)[\"“”]|(?P<prefix>[^\s\"“”]+)\*(?!\S)|(?P<word>[^\s\"“”]+)")


@dataclass(frozen=True, slots=True, order=True)
class WordItem:
    """A word, the beginning of words, or the words of a phrase, which a hit must hold."""

    words: tuple[str, ...]
    is_prefix: bool = False
    is_required: bool = False

    @property
    def text(self) -> str:
        """The item as one would type it.

        >>> WordItem(("cancel",), is_prefix=True).text, WordItem(("my", "plan"), is_required=True).text
        ('cancel*', '"my plan"')
        """
        text = " ".join(self.words)
        return f'"{text}"' if self.is_required else f"{text}*" if self.is_prefix else text


@dataclass(frozen=True, slots=True)
class WordQuery:
    """The items of a query, in the order in which they came, each with the number of times that it occurs."""

    items: tuple[tuple[WordItem, int], ...]

    @property
    def length(self) -> int:
        """The number of words."""
        return sum(len(item.words) * count for item, count in self.items)


def read_query(text: str) -> WordQuery:
    """Read words, ``"phrases"`` and ``prefixes*``. Raises ``InvalidInput`` for a text without words.

    >>> [item.text for item, _ in read_query('Cancel* "my plan", please').items]
    ['cancel*', '"my plan"', 'please']
    """
    items: Counter[WordItem] = Counter()
    for match in _CLAUSE.finditer(text):
        folded = words(match["phrase"] or match["prefix"] or match["word"] or "")
        if match["phrase"] is not None:
            items.update([WordItem(folded, is_required=True)] if folded else [])
        elif match["prefix"] is not None:
            items.update(WordItem((word,)) for word in folded[:-1])
            items.update(WordItem((word,), is_prefix=True) for word in folded[-1:])
        else:
            items.update(WordItem((word,)) for word in folded)
    if not items:
        raise InvalidInput("The query holds no words.", hint="Give at least one word, number or symbol.", field="text")
    return WordQuery(tuple(items.items()))


def plain_query(terms: tuple[str, ...]) -> WordQuery:
    """A query of words alone, whatever marks the text has."""
    return WordQuery(tuple(Counter(WordItem((term,)) for term in terms).items()))
