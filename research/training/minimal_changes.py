"""Minimal changes: copies of a sentence of which it is known whether, and in what, they say another thing.

They are made by rules and by WordNet, without a parser. A rule that is not sure leaves the sentence alone.
"""

from collections.abc import Iterable
from typing import Final

from research.training.changes.claims import conditions, modality, scope
from research.training.changes.manner import contractions, courtesy, order, slips
from research.training.changes.negation import affirmed, denied, turned
from research.training.changes.numbers import other_numbers, same_numbers
from research.training.changes.roles import exchanged, voice
from research.training.changes.sentence import Change, Rule, Sentence
from research.training.changes.wordnet import WordNet, read_wordnet
from research.training.changes.words import opposites, other_actions, other_things, synonyms

__all__ = ["DRESS", "REWORD", "Change", "changes", "different", "made", "read_wordnet"]
_DIFFER: Final[tuple[Rule, ...]] = (
    other_numbers,
    opposites,
    denied,
    affirmed,
    turned,
    other_things,
    other_actions,
    exchanged,
    modality,
    conditions,
    scope,
)
REWORD: Final[tuple[Rule, ...]] = (same_numbers, synonyms, contractions, voice, order)
DRESS: Final[tuple[Rule, ...]] = (courtesy, slips)


def changes(text: str, wordnet: WordNet | None) -> list[Change]:
    """The changed copies of a sentence, always the same for the same text; without WordNet, fewer.

    >>> for change in changes("You must pay 50% within 14 days.", None)[:4]:
    ...     print(change.kind, "|", change.text)
    number | You must pay 30% within 14 days.
    number | You must pay 50% within 23 days.
    modality | You may pay 50% within 14 days.
    condition | You must pay 50% within 14 days unless the deadline has passed.
    """
    return made(text, wordnet, (*_DIFFER, *REWORD, *DRESS))


def different(text: str, wordnet: WordNet | None) -> list[Change]:
    """The copies that say another thing."""
    return made(text, wordnet, _DIFFER)


def made(text: str, wordnet: WordNet | None, rules: Iterable[Rule]) -> list[Change]:
    """The copies that some rules make; a copy that two rules make is the first one's."""
    sentence = Sentence(text, wordnet)
    unique: dict[str, Change] = {}
    for rule in rules:
        for change in rule(sentence):
            unique.setdefault(change.text, change)
    return [change for change in unique.values() if change.text != text]
