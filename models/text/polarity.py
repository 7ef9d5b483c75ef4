"""Polarity: is a span of text negated? Rules for English.

A negation cue ("not", "never", "couldn't") has a scope: the words after it in its clause, at most ``REACH`` of them. A
few predicates ("is not possible") negate what precedes them. The method is NegEx (Chapman et al. 2001, A simple
algorithm for identifying negated findings and diseases in discharge summaries), with cues of conversations and
contracts. It reads words, not grammar: irony, negation across sentences and verbs of doubt are not seen.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

# Words that the scope of a cue covers; NegEx has five, conversations put more fillers in between.
REACH: Final = 8

_AUXILIARY = "do|does|did|is|are|was|were|has|have|had|can|could|will|would|should|must|might|need|ai|wo|ca|sha"
_SUBJECT = "i|you|we|he|she|it|they|this|that|there"
# Negations in form only. They come first, so that no cue is seen within them.
_PSEUDO = (
    r"not (?:only|just|merely|simply|least|to mention|(?:so |too |very )?(?:long|far|bad))"
    r"|no (?:doubt|matter|wonder|problem|worries)|nothing but|why not|without (?:a )?doubt"
    rf"|can(?:not|'?t) (?:help|wait)|(?:why )?(?:{_AUXILIARY})n'?t (?:{_SUBJECT})"
)
_CUE = (
    r"not|no|never|nobody|none|nothing|neither|nor|hardly|barely|scarcely|cannot|cant"
    rf"|(?:{_AUXILIARY})n't|(?:do|does|did|is|was|has|could|would)nt"
)
# Negations by meaning: one beneath a cue is an affirmation ("never failed to").
_LEXICAL = (
    r"fail(?:s|ed|ing)? to|(?:refus|declin)(?:e|es|ed|ing) to|unable to|unwilling to|without|instead of|rather than"
    r"|no longer"
)
# What ends a scope. A comma does, unless an enumeration follows ("no fever, cough or pain").
_STOP = (
    r"[.;:!?\n]|,(?!\s*(?:n?or|and)\b|(?:\s*[\w'-]+){1,3}\s*,?\s*n?or\b)"
    r"|\b(?:but|however|although|though|because|yet|except|unless|until|so that)\b"
    rf"|\band (?:{_SUBJECT})\b"
)
_TOKEN: Final = re.compile(
    rf"\b(?:(?P<pseudo>{_PSEUDO})|(?P<lexical>{_LEXICAL})|(?P<cue>{_CUE}))\b|(?P<stop>{_STOP})|(?P<word>\w[\w'-]*)",
    re.IGNORECASE,
)
_VERB = "is|was|are|were|be|been|has|have|had|did|does|do|will|would|can|could"
_PREDICATE: Final = re.compile(
    rf"[^\S\n]*(?:\w+[^\S\n]+)?(?:(?:{_VERB})(?:n't|[^\S\n]+not|[^\S\n]+never)[^\S\n]+(?:\w+[^\S\n]+)?"
    r"(?:possible|allowed|permitted|available|accepted|happen|happened|work|worked)"
    r"|(?:is|was|are|were)[^\S\n]+(?:impossible|refused|denied|declined|rejected))\b",
    re.IGNORECASE,
)
# Function words that hardly another language has.
_ENGLISH: Final = re.compile(
    r"\b(?:the|of|and|to|is|you|that|it|was|for|are|with|they|this|have|had|but|not|never|what|when|your|there|which"
    r"|will|would|could|my|we|nothing|nobody|without|if|be|been|i'm|he|she|his|her|from|by|an|at)\b",
    re.IGNORECASE,
)
_CONTRACTED: Final = re.compile(rf"\b(?:(?:{_AUXILIARY})n't|cannot)\b", re.IGNORECASE)
# Typographic apostrophes are read as plain ones; offsets stay.
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u02bc": "'"})


def is_negated(text: str, start: int, end: int) -> bool:
    """True if ``text[start:end]`` is negated, by a cue within it or by one whose scope reaches its start.

    Offsets are code points. The text is what surrounds the span; a clause on either side is enough.

    >>> text = "We couldn't book a table, but the waiter was kind."
    >>> is_negated(text, text.index("book"), text.index(","))
    True
    >>> is_negated(text, text.index("the waiter"), len(text))
    False
    """
    plain = text.translate(_APOSTROPHES)
    cue, lexical = _scopes(plain[:end], start)
    return cue != lexical or _PREDICATE.match(plain, end) is not None


def has_negation(text: str) -> bool:
    """True if a text has a negation cue.

    >>> has_negation("the tenant must not sublet"), has_negation("not only books")
    (True, False)
    """
    return any(kind in ("cue", "lexical") for kind, _ in _tokens(text.translate(_APOSTROPHES)))


def is_english(text: str, metadata: Mapping[str, Any] | None = None) -> bool:
    """True if a text is English: by the ``lang`` or ``language`` of its metadata, or else by two function words, or
    one contracted negation.

    >>> is_english("we couldn't book"), is_english("no quiero reservar"), is_english("no", {"lang": "en-GB"})
    (True, False, True)
    """
    for key in ("lang", "language"):
        language = (metadata or {}).get(key)
        if isinstance(language, str):
            return language.lower().startswith("en")
    plain = text.translate(_APOSTROPHES)
    words = {word.lower() for word in _ENGLISH.findall(plain)}
    return len(words) >= 2 or _CONTRACTED.search(plain) is not None


def _scopes(text: str, start: int) -> tuple[bool, bool]:
    """A pair of flags: a cue, and a lexical negation, is in force at ``start`` or within the text from there on."""
    reaches = {"cue": 0, "lexical": 0}
    inside = {"cue": False, "lexical": False}
    for kind, at in _tokens(text):
        if at >= start:
            inside = {name: inside[name] or reaches[name] > 0 or kind == name for name in inside}
        if kind in reaches:
            reaches[kind] = REACH + 1
        reaches = {name: 0 if kind == "stop" else max(left - 1, 0) for name, left in reaches.items()}
    return inside["cue"], inside["lexical"]


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    for match in _TOKEN.finditer(text):
        yield match.lastgroup or "word", match.start()
