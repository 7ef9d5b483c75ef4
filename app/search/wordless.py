"""Queries that say nothing: signs without a word, and sounds that fill pauses."""

from typing import Final

from models.text.words import words

# Sounds of hesitation in English, German, French and Spanish, folded.
_FILLERS: Final = frozenset(
    [
        "ah",
        "ahem",
        "äh",
        "ähm",
        "eh",
        "ehm",
        "em",
        "er",
        "erm",
        "euh",
        "hm",
        "hmm",
        "mhm",
        "mm",
        "uh",
        "uhm",
        "um",
        "umm",
    ]
)


def notice_of(text: str | None) -> str | None:
    """The notice for a query without words; None for all others.

    >>> notice_of("."), notice_of("cancel, um")
    ('The query holds no words: its signs are searched for.', None)
    >>> notice_of("Um... uh")
    'The query holds only fillers: its hits have no meaning in common.'
    """
    if text is None:
        return None
    found = words(text)
    if not found:
        return "The query holds no words: its signs are searched for."
    if _FILLERS.issuperset(found):
        return "The query holds only fillers: its hits have no meaning in common."
    return None
