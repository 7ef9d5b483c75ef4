"""Stems of folded words: Snowball's algorithms (Porter, 2001), one for each language."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

Language: TypeAlias = Literal[
    "arabic",
    "armenian",
    "basque",
    "catalan",
    "czech",
    "danish",
    "dutch",
    "english",
    "esperanto",
    "estonian",
    "finnish",
    "french",
    "german",
    "greek",
    "hindi",
    "hungarian",
    "indonesian",
    "irish",
    "italian",
    "lithuanian",
    "nepali",
    "norwegian",
    "persian",
    "polish",
    "portuguese",
    "romanian",
    "russian",
    "serbian",
    "sesotho",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
    "yiddish",
]


def stems(words: Sequence[str], language: Language) -> list[str]:
    """The stem of every folded word.

    >>> stems(["cancelled", "cancels", "plan"], "english")
    ['cancel', 'cancel', 'plan']
    """
    # Imported here because a search without stemming does not need it. A stemmer is not safe to share between threads.
    import Stemmer

    return Stemmer.Stemmer(language).stemWords(list(words))
