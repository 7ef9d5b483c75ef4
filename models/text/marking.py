"""The span that is marked: what a search found, fitted to its clause.

The best span by similarity often ends within a clause, or begins with the conjunction before it. The marked span takes
in the few words that its clause has more, and loses conjunctions before and function words behind. Rules for English.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class UnitsAround:
    """Some units of a text with a span among them: their texts, and where clauses begin and end.

    ``begins[i]``: a clause begins with unit i. ``ends[i]``: one ends before unit i; there is one more of these.
    """

    texts: Sequence[str]
    begins: Sequence[bool]
    ends: Sequence[bool]

    def fitted(self, first: int, last: int) -> tuple[int, int]:
        """The units that are marked for a span from unit ``first`` to unit ``last``, exclusive; never none.

        >>> units = UnitsAround("but the cat sat on the mat .".split(), [True] + 7 * [False], 7 * [False] + 2 * [True])
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
        return begin, end

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
