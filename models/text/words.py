"""Folded words, the forms in which words are stored and compared, and their stems by Snowball (Porter, 2001).

Case, compatibility forms of Unicode, invisible characters and apostrophes are folded; diacritics are kept. A unit of
punctuation alone is no word, and punctuation around a word is not part of it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal, TypeAlias
from unicodedata import category, normalize

from models.interruption import checked
from models.text.units import NEWEST, TextForm, split
from models.types import CharSpans

# Words between two checkpoints.
_AT_ONCE: Final = 16_384
# Apostrophes that stand for the one on keyboards.
_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))
# Variation selectors say how a character is drawn.
_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


@lru_cache(maxsize=2**16)
def fold(unit: str) -> str:
    """The folded word of a unit's text; empty if it is no word.

    >>> fold("Straße"), fold("ﬁne"), fold("Can’t"), fold("co\u00adop"), fold("é") == fold("e\u0301")
    ('strasse', 'fine', "can't", 'coop', True)
    >>> fold("..."), fold("_x_"), fold("$"), fold("😀")
    ('', 'x', '$', '😀')
    """
    if unit.isascii() and unit.isalnum():
        return unit.lower()
    text = normalize("NFKC", normalize("NFKC", unit).casefold()).translate(_APOSTROPHES)
    visible = [character for character in text if not _is_invisible(character)]
    words = [number for number, character in enumerate(visible) if _makes_word(character)]
    if not words:
        return ""
    end = words[-1] + 1
    while end < len(visible) and category(visible[end])[0] == "M":
        end += 1
    return "".join(visible[words[0] : end])


def folded_units(text: str, units: CharSpans) -> list[str]:
    """The folded word of every unit of a text; empty for a unit that is no word.

    >>> folded_units("Go on!", split("Go on!"))
    ['go', 'on', '']
    """
    return [fold(text[start:end]) for start, end in checked(units.tolist(), _AT_ONCE)]


def words(text: str, form: TextForm = NEWEST) -> tuple[str, ...]:
    """The folded words of a text, in order.

    >>> words("Cancel my plan.Please"), words("Cancel my plan.Please", "text.v1")
    (('cancel', 'my', 'plan', 'please'), ('cancel', 'my', 'plan.please'))
    """
    return tuple(filter(None, folded_units(text, split(text, form))))


def _is_invisible(character: str) -> bool:
    return category(character) == "Cf" or any(ord(character) in selectors for selectors in _SELECTORS)


def _makes_word(character: str) -> bool:
    """True for letters, digits and symbols; but marks such as ``^`` and ``´`` are punctuation."""
    kind = category(character)
    return kind[0] in "LN" or kind in ("Sm", "Sc", "So")


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
