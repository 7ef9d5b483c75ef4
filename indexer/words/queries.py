"""Queries of words: words, prefixes and phrases."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import regex

from models.errors import InvalidInput
from models.text.units import NEWEST, TextForm
from models.text.words import Language, stems, words

_CLAUSE: Final = regex.compile(r"[\"“”](?P<phrase>[^\"“”]*)[\"“”]|(?P<prefix>[^\s\"“”]+)\*(?!\S)|(?P<word>[^\s\"“”]+)")


@dataclass(frozen=True, slots=True, order=True)
class WordItem:
    """A word, the beginning of words, or the words of a phrase, which a hit must hold.

    A word with a language stands for all words with its stem.
    """

    words: tuple[str, ...]
    is_prefix: bool = False
    is_required: bool = False
    stemming: Language | None = None

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


def read_query(text: str, stemming: Language | None = None, form: TextForm = NEWEST) -> WordQuery:
    """Read words, ``"phrases"`` and ``prefixes*``; only words are stemmed.

    Raises ``InvalidInput`` for a text without words.

    >>> [item.text for item, _ in read_query('Cancel* "my plan", please').items]
    ['cancel*', '"my plan"', 'please']
    """
    items: Counter[WordItem] = Counter()
    for match in _CLAUSE.finditer(text):
        folded = words(match["phrase"] or match["prefix"] or match["word"] or "", form)
        if match["phrase"] is not None:
            items.update([WordItem(folded, is_required=True)] if folded else [])
        elif match["prefix"] is not None:
            items.update(WordItem((word,)) for word in folded[:-1])
            items.update(WordItem((word,), is_prefix=True) for word in folded[-1:])
        else:
            items.update(WordItem((word,)) for word in folded)
    if not items:
        raise InvalidInput("The query holds no words.", hint="Give at least one word, number or symbol.", field="text")
    return WordQuery(tuple(_stemmed(items, stemming).items()))


def has_plain_words(text: str) -> bool:
    """True for a text without ``"phrases"`` and ``prefixes*``.

    >>> has_plain_words("cancel my plan"), has_plain_words("cancel* my plan"), has_plain_words('my "plan"')
    (True, False, False)
    """
    return all(match["word"] for match in _CLAUSE.finditer(text))


def plain_query(terms: tuple[str, ...], stemming: Language | None = None) -> WordQuery:
    """A query of words alone, whatever marks the text has.

    >>> query = plain_query(("plans", "my", "plan"), "english")
    >>> [(item.text, count) for item, count in query.items]
    [('plans', 2), ('my', 1)]
    """
    return WordQuery(tuple(_stemmed(Counter(WordItem((term,)) for term in terms), stemming).items()))


def _stemmed(items: Counter[WordItem], stemming: Language | None) -> Counter[WordItem]:
    """The same items with a language for words; those that share a stem are one item, named by the first."""
    if stemming is None:
        return items
    firsts: dict[str, WordItem] = {}
    counts: Counter[WordItem] = Counter()
    for item, count in items.items():
        if item.is_required or item.is_prefix:
            counts[item] += count
        else:
            (stem,) = stems(item.words, stemming)
            counts[firsts.setdefault(stem, replace(item, stemming=stemming))] += count
    return counts
