"""The span that is marked: what a search found, fitted to its clause; and quotation marks around a text.

The best span by similarity often ends within a clause, or begins with the conjunction before it. The marked span takes
in the few words that its clause has more, and loses conjunctions before and function words behind. What belongs to a
word or number at its ends stays with it: signs of currencies and percent, stops of abbreviations. Rules for English.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import regex

from models.types import CharSpan

# Words that a clause may have before and behind a span, to be marked with it.
MOST_BEFORE: Final = 3
MOST_BEHIND: Final = 6
# Units on either side of a span that are looked at: these words, and punctuation between them.
AROUND: Final = 2 * MOST_BEHIND

_CONJUNCTIONS: Final = frozenset({"and", "but", "so", "or", "nor", "yet", "however", "though", "because", "indeed"})
FUNCTION_WORDS: Final = frozenset(
    {
        *("a", "an", "the", "this", "these", "those", "my", "your", "our", "their", "his", "her", "its"),
        *("i", "we", "you", "he", "she", "it", "they", "that", "which", "who"),
        *("of", "to", "in", "on", "at", "for", "from", "by", "with", "into", "about", "as", "than"),
        *("and", "but", "or", "nor", "so", "if", "because"),
        *("is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "have", "has", "had"),
        *("will", "would", "shall", "should", "can", "could", "may", "might", "must"),
    }
)
# Two units, with the space between them if there is one, that belong together: "6.5 %", "20°" and "°C", "$1bn", "5€",
# and "p.m" and "U.K" with their full stops.
_TOGETHER: Final = regex.compile(r".*\d ?[%‰°]|° ?[CF]|\p{Sc}\d.*|.*\d\p{Sc}|(?:[^\W\d_]\.){2,}", regex.V1)
_HYPHENS: Final = frozenset("-\u2010\u2011")
_BRACKETS: Final = {")": "(", "]": "["}
# Quotation marks that stand around a text, and their partners.
_PARTNERS: Final = {'"': '"', "\u201c": "\u201d", "\u00ab": "\u00bb", "'": "'", "\u2018": "\u2019"}
# Those that are neither single ones, which may be apostrophes, nor the sign of inches.
_OPENING: Final = frozenset('"\u201c\u00ab')
_CLOSING: Final = regex.compile(r"(?<!\d)\"|[\u201d\u00bb]")
# Marks within, by which a text has further quotations.
_DOUBLE: Final = regex.compile(r"[\"\u201c\u201d\u00ab\u00bb]")
_SINGLE: Final = regex.compile(r"(?<!\w)['\u2018\u2019]|['\u2018\u2019](?!\w)")


@dataclass(frozen=True, slots=True)
class UnitsAround:
    """Some units of a text with a span among them: their texts, and where clauses begin and end.

    ``begins[i]``: a clause begins with unit i. ``ends[i]``: one ends before unit i; there is one more of these.
    ``touches[i]``: no space is before unit i.
    """

    texts: Sequence[str]
    begins: Sequence[bool]
    ends: Sequence[bool]
    touches: Sequence[bool]

    def fitted(self, first: int, last: int) -> tuple[int, int]:
        """The units that are marked for a span from unit ``first`` to unit ``last``, exclusive; never none.

        >>> texts, begins, ends = "but the cat sat on the mat .".split(), [True] + 7 * [False], 7 * [False] + 2 * [True]
        >>> units = UnitsAround(texts, begins, ends, 7 * [False] + [True])
        >>> " ".join(units.texts[slice(*units.fitted(0, 4))]), units.fitted(2, 3)
        ('the cat sat on the mat', (1, 7))
        """
        begin, end = self._begin(first), self._end(last)
        while end > begin + 1 and not self._is_word(end - 1):
            end -= 1
        while begin < end - 1 and (not self._is_word(begin) or self.texts[begin].lower() in _CONJUNCTIONS):
            begin += 1
        at_border = any(self.ends[end : self._skipped(end) + 1])
        while end > begin + 1 and not at_border and self._is_empty(end - 1):
            end -= 1
        return self._completed(begin, end)

    def _completed(self, begin: int, end: int) -> tuple[int, int]:
        """Some units with those that belong to the first and the last one, and with the brackets that they open."""
        while begin > 0 and self._is_joined(begin):
            begin -= 1
        while end < len(self.texts) and (self._is_joined(end) or self._closes(begin, end)):
            end += 1
        return begin, end

    def _is_joined(self, unit: int) -> bool:
        """True if a unit and the one before it belong together."""
        if self._is_hyphen(unit) or self._is_hyphen(unit - 1):
            return True
        return _TOGETHER.fullmatch((" " * (not self.touches[unit])).join(self.texts[unit - 1 : unit + 1])) is not None

    def _is_hyphen(self, unit: int) -> bool:
        """True for a hyphen within a word."""
        return (
            0 < unit < len(self.texts) - 1
            and self.texts[unit] in _HYPHENS
            and self.touches[unit]
            and self.touches[unit + 1]
            and self._is_word(unit - 1)
            and self._is_word(unit + 1)
        )

    def _closes(self, begin: int, unit: int) -> bool:
        """True for a bracket that is opened by one from ``begin`` on, and touches what is before it."""
        bracket, inside = self.texts[unit], self.texts[begin:unit]
        opening = _BRACKETS.get(bracket)
        return self.touches[unit] and opening is not None and inside.count(opening) > inside.count(bracket)

    def _begin(self, first: int) -> int:
        """The beginning of the clause if few words are before the span, else that of the span."""
        before = next((unit for unit in range(first, -1, -1) if self.begins[unit]), None)
        return first if before is None or self._words(before, first) > MOST_BEFORE else before

    def _end(self, last: int) -> int:
        """The end of the clause if few words are behind the span, else that of the span."""
        behind = next((unit for unit in range(last, len(self.ends)) if self.ends[unit]), None)
        return last if behind is None or self._words(last, behind) > MOST_BEHIND else behind

    def _skipped(self, end: int) -> int:
        """The first word from a unit on."""
        return next((unit for unit in range(end, len(self.texts)) if self._is_word(unit)), len(self.texts))

    def _words(self, start: int, end: int) -> int:
        return sum(map(self._is_word, range(start, end)))

    def _is_word(self, unit: int) -> bool:
        return any(map(str.isalnum, self.texts[unit]))

    def _is_empty(self, unit: int) -> bool:
        return not self._is_word(unit) or self.texts[unit].lower() in FUNCTION_WORDS


def unquoted(text: str) -> CharSpan:
    """The code points of a text between quotation marks around all of it, or else all of them.

    The text is that of a sentence, whose border may have cut off one of the two.

    >>> unquoted('"Where is my refund?"'), unquoted('"I am still waiting.'), unquoted('He said "yes".')
    (CharSpan(start=1, end=20), CharSpan(start=1, end=20), CharSpan(start=0, end=14))
    """
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    opening, closed = text[start : start + 1], end - text.endswith((".", ","), 0, end)
    further = _DOUBLE
    if closed > start and _PARTNERS.get(opening) == text[closed - 1]:
        further = _DOUBLE if opening in _OPENING else _SINGLE
        start, end = start + 1, closed - 1
    elif opening in _OPENING:
        start += 1
    elif end > start and _CLOSING.match(text, end - 1):
        end -= 1
    else:
        return CharSpan(0, len(text))
    within = CharSpan(start, end)
    is_whole = further.search(text, start, end) is None and any(map(str.isalnum, within.of(text)))
    return within if is_whole else CharSpan(0, len(text))
