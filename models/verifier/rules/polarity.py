"""Polarity: does a text affirm or deny what a span of it says? Rules for English, by negations and their scopes."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from models.verifier.rules.negation import AUXILIARY, UNMARKED, Clause, Negation, Reach, Reading, plain, read_negations

Polarity = Literal["affirmed", "negated"]

# Words before a cue that say nothing by themselves: in "and without paying" nothing is affirmed.
_EMPTY: Final = re.compile(r"(?:\W|\b(?:and|or|but|so|then|i|we|you|he|she|it|they|the|a|an|is|are|was|were)\b)*")
_DISCOURSE: Final = re.compile(
    r"(?:\W|\b(?:yeah|yes|no|okay|ok|right|well|so|um|uh|sorry|please|look|listen|hi|hello|thanks|actually|honestly"
    r"|unfortunately)\b)*",
)
# What stands before a main clause: "during the term," "(ii) for damages,".
_FRONTED: Final = re.compile(
    r"\W*(?:\w{1,4}\)\W*)?(?:in|on|at|for|to|of|by|from|with|under|upon|after|before|during|within|subject to"
    r"|pursuant to|further|furthermore|moreover|otherwise)\b(?!.*\b(?:i|you|we|he|she|it|they)\b)",
    re.DOTALL,
)
# Words of a label: "build error:".
_LABEL: Final = 3
_ONE_WORD: Final = re.compile(r"\s*(?:\w+\s+)?")
# Function words that hardly another language has.
_ENGLISH: Final = re.compile(
    r"\b(?:the|of|and|to|is|you|that|it|was|for|are|with|they|this|have|had|but|not|never|what|when|your|there|which"
    r"|will|would|could|my|we|nothing|nobody|without|if|be|been|i'm|he|she|his|her|from|by|an|at)\b",
)
# Regular past tenses; one Spanish word looks like them.
_PAST: Final = re.compile(r"\b(?!usted\b)\w{3,}ed\b")
# What no other language has: one is enough. "Dont" is French.
_ONLY_ENGLISH: Final = re.compile(
    rf"\b(?:(?:{AUXILIARY})n't|cannot|(?:{UNMARKED.removeprefix('do|')})nt|they|them|their|would|could|should|which"
    r"|nobody|nothing|never|anyone|anything|everyone|everything|someone|something|without|because)\b"
)


def polarity(text: str, start: int, end: int) -> Polarity:
    """Polarity of a span: whether a text affirms or denies what ``text[start:end]`` says in its main clause.

    A cue before the span counts if its scope reaches the span; one within it, if it denies the span's main clause and
    not only a phrase or a subordinate clause of it. Offsets are code points. The text is what surrounds the span; a
    clause on either side is enough.

    >>> text = "This is governed by Irish law, without regard to conflict of laws."
    >>> polarity(text, 0, len(text)), polarity(text, text.index("conflict"), len(text))
    ('affirmed', 'negated')
    """
    text = plain(text)
    reading = read_negations(text)
    first, last = _head(text, reading, start, end)
    lexical = [negation.lexical for negation in reading.negations if _denies(text, negation, (first, last), end)]
    return "negated" if (False in lexical) != (True in lexical) else "affirmed"


def is_negated(text: str, start: int, end: int) -> bool:
    """True if the polarity of ``text[start:end]`` is ``negated``.

    >>> text = "We couldn't book a table, but the waiter was kind."
    >>> is_negated(text, text.index("book"), text.index(","))
    True
    >>> is_negated(text, text.index("the waiter"), len(text))
    False
    """
    return polarity(text, start, end) == "negated"


def has_negation(text: str) -> bool:
    """True if a text has a negation cue.

    >>> has_negation("the tenant must not sublet"), has_negation("not only books")
    (True, False)
    """
    return any(negation.reach is not Reach.BEFORE for negation in read_negations(text).negations)


def is_english(text: str, metadata: Mapping[str, Any] | None = None) -> bool:
    """True if a text is English: by the ``lang`` or ``language`` of its metadata, or else by a word that no other
    language has, two function words, or one and a regular past tense.

    >>> is_english("we couldn't book"), is_english("no quiero reservar"), is_english("no", {"lang": "en-GB"})
    (True, False, True)
    """
    for key in ("lang", "language"):
        language = (metadata or {}).get(key)
        if isinstance(language, str):
            return language.lower().startswith("en")
    small = plain(text)
    if _ONLY_ENGLISH.search(small) is not None:
        return True
    words = set(_ENGLISH.findall(small))
    return len(words) >= 2 or (len(words) == 1 and _PAST.search(small) is not None)


def _denies(text: str, negation: Negation, head: tuple[int, int], end: int) -> bool:
    """True if a negation denies a span with this main clause and this end."""
    first, last = head
    if negation.reach is Reach.BEFORE:
        return negation.scope_start <= first and _ONE_WORD.fullmatch(text, end, negation.start) is not None
    if negation.start < first:
        return negation.scope_end > first
    return negation.start < last and (
        negation.reach is Reach.CLAUSE or _EMPTY.fullmatch(text, first, negation.start) is not None
    )


def _head(text: str, reading: Reading, start: int, end: int) -> tuple[int, int]:
    """The code points of a span's main clause: the first that is not subordinate, from its finite verb on.

    Neither words such as "yeah" nor what is fronted are clauses; one that a parenthesis interrupts goes on after it.
    """
    within = [clause for clause in reading.clauses if any(start <= word < end for word in clause.words)]
    main = [clause for clause in within if not clause.subordinate or clause.start < start] or within[:1]
    while len(main) > 1 and _is_beginning(text, main[0], main[1], start):
        main = main[1:]
    if not main:
        return start, end
    return max(start, main[0].words[0]), min(end, main[0].end)


def _is_beginning(text: str, clause: Clause, following: Clause, start: int) -> bool:
    """True if what a clause says comes only with the following one."""
    begin = max(start, clause.start)
    label = len(clause.words) <= _LABEL and text[clause.end : following.start].strip() == ":"
    if not clause.finite and (label or following.resumes or _FRONTED.match(text, clause.start, clause.end) is not None):
        return True
    return _DISCOURSE.fullmatch(text, begin, clause.end) is not None
