"""Forms of English words: what form a word has, and the same form of another word."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal

from research.training.changes.word_lists import word_set

_FORMS: Final[tuple["Form", ...]] = ("s", "past", "participle", "ing", "er", "est")
Form = Literal["base", "s", "past", "participle", "ing", "er", "est"]
_TABLE: Final = """
be was been|become became become|begin began begun|bring brought brought|build built built|buy bought bought|
break broke broken|catch caught caught|choose chose chosen|come came come|cost cost cost|cut cut cut|do did done|
draw drew drawn|drive drove driven|eat ate eaten|fall fell fallen|feel felt felt|find found found|fly flew flown|
forget forgot forgotten|get got got|give gave given|go went gone|grow grew grown|have had had|hear heard heard|
hold held held|keep kept kept|know knew known|lead led led|leave left left|lend lent lent|let let let|lose lost lost|
make made made|mean meant meant|meet met met|pay paid paid|put put put|read read read|ride rode ridden|rise rose risen|
run ran run|say said said|see saw seen|sell sold sold|send sent sent|set set set|shut shut shut|sit sat sat|
speak spoke spoken|spend spent spent|stand stood stood|steal stole stolen|take took taken|teach taught taught|
tell told told|think thought thought|throw threw thrown|understand understood understood|wear wore worn|win won won|
withdraw withdrew withdrawn|write wrote written|rewrite rewrote rewritten|overwrite overwrote overwritten|hit hit hit|
hide hid hidden|show showed shown|split split split|spread spread spread|lay laid laid|seek sought sought|
hurt hurt hurt|
undo undid undone|forbid forbade forbidden|shrink shrank shrunk|sink sank sunk|freeze froze frozen|fight fought fought
"""
_VERBS: Final = [row.split() for row in _TABLE.replace("\n", "").split("|")]
_IRREGULAR: Final[dict[tuple[str, Form], str]] = {
    **{(base, "past"): past for base, past, _ in _VERBS},
    **{(base, "participle"): participle for base, _, participle in _VERBS},
    ("be", "s"): "is",
    ("have", "s"): "has",
    ("do", "s"): "does",
    ("go", "s"): "goes",
    ("good", "er"): "better",
    ("good", "est"): "best",
    ("bad", "er"): "worse",
    ("bad", "est"): "worst",
    ("far", "er"): "farther",
    ("child", "s"): "children",
    ("person", "s"): "people",
    ("man", "s"): "men",
    ("woman", "s"): "women",
    ("wife", "s"): "wives",
    ("knife", "s"): "knives",
    ("shelf", "s"): "shelves",
}
_DOUBLED: Final = word_set(
    "admit bar ban beg big commit control cut drop equip fit forbid forget get grab hit hot hop jog knit "
    "let log occur omit permit pin plan plot prefer put quit refer regret rid rip run sad set ship shop "
    "shut sit skip slip spot stop strip submit swap swim tag tap thin tip transfer transmit trip trim "
    "unplug unwrap uninstal wet win wrap zip cancel travel label model signal total fulfil enrol instal"
) - {"cancel", "travel", "label", "model", "signal", "total"}
_VOWELS: Final = "aeiou"
_SILENT: Final = re.compile("hour|honest|honou?r|heir", re.IGNORECASE)
_LIKE_YOU: Final = re.compile("uni(?![nmd])|us[eu]|eu|on[ec]|uti|ubi|uk", re.IGNORECASE)


def inflect(word: str, form: Form) -> str:
    """A form of a word in its basic form.

    >>> [inflect("cancel", "ing"), inflect("pay", "past"), inflect("copy", "s"), inflect("stop", "past")]
    ['canceling', 'paid', 'copies', 'stopped']
    >>> [inflect("large", "er"), inflect("child", "s"), inflect("write", "participle")]
    ['larger', 'children', 'written']
    """
    if form == "base":
        return word
    if (word, form) in _IRREGULAR:
        return _IRREGULAR[word, form]
    ending = {"s": "s", "past": "ed", "participle": "ed", "ing": "ing", "er": "er", "est": "est"}[form]
    if form in {"er", "est"} and len(word) > 6:
        return f"{'more' if form == 'er' else 'most'} {word}"
    if form == "s":
        hisses = word.endswith(("s", "x", "z", "ch", "sh"))
        return word[:-1] + "ies" if _ends_in_y(word) else word + ("es" if hisses else "s")
    if _ends_in_y(word) and form != "ing":
        return word[:-1] + "i" + ending
    if word.endswith("e") and not (form == "ing" and word.endswith(("ee", "ye", "oe"))):
        return (word[:-2] + "y" if form == "ing" and word.endswith("ie") else word[:-1]) + ending
    return word + (word[-1] if word in _DOUBLED else "") + ending


@lru_cache(maxsize=50_000)
def readings(word: str) -> tuple[tuple[str, Form], ...]:
    """The basic forms that a word may have, each with the word's form; what is no word is among them.

    >>> ("stop", "past") in readings("stopped"), ("write", "participle") in readings("written")
    (True, True)
    """
    irregular: list[tuple[str, Form]] = [key for key, other in _IRREGULAR.items() if other == word]
    stems = dict.fromkeys(_stems(word))
    regular: list[tuple[str, Form]] = [(stem, form) for stem in stems for form in _FORMS if inflect(stem, form) == word]
    return (word, "base"), *irregular, *regular


def _stems(word: str) -> Iterator[str]:
    for ending in ("s", "es", "ed", "ing", "er", "est", "d", "r", "st"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1:
            yield stem
            yield stem + "e"
            yield from ((stem[:-1] + "y", stem[:-1] + "ie") if stem[-1] in "iy" else ())
            yield from ((stem[:-1],) if stem[-1] == stem[-2] else ())


def _ends_in_y(word: str) -> bool:
    return len(word) > 1 and word[-1] == "y" and word[-2] not in _VOWELS


def like(pattern: str, word: str) -> str:
    """A word in the case of another.

    >>> like("Buyer", "seller"), like("NOT", "always"), like("a", "two")
    ('Seller', 'ALWAYS', 'two')
    """
    if len(pattern) > 1 and pattern.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if pattern[:1].isupper() else word


def with_articles(text: str) -> str:
    """A text whose *a* and *an* suit the words that follow them.

    >>> with_articles("a old user and an house, an hour")
    'an old user and a house, an hour'
    """
    return re.sub(r"\b([Aa])n?( )(?=([A-Za-z]+|\d+))", _article, text)


def _article(match: re.Match[str]) -> str:
    word = match[3]
    if word.isdigit():
        return f"{match[1]}{'n' if word[0] == '8' or word in {'11', '18'} else ''}{match[2]}"
    if word.isupper():  # initials are spelled: an SMS, a URL
        return match[0]
    vowel = _SILENT.match(word) or (word[0].lower() in _VOWELS and not _LIKE_YOU.match(word))
    return f"{match[1]}{'n' if vowel else ''}{match[2]}"
