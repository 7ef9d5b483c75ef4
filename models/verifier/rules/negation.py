"""Negations of English texts: cues, and the scopes that they deny.

A cue ("not", "never", "couldn't") denies the words after it in its clause, at most ``REACH`` of them; one that denies a
whole clause ("nothing", "in no event") reaches to the clause's end. The method is NegEx (Chapman et al. 2001, A simple
algorithm for identifying negated findings and diseases in discharge summaries), with cues of conversations and
contracts, and with clauses. It reads words, not grammar: irony, negation across sentences and verbs of doubt are not
seen.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple

# Words that the scope of a cue covers; NegEx has five, conversations put more fillers in between.
REACH: Final = 8
_WHOLE_CLAUSE: Final = 1_000_000

AUXILIARY: Final = "do|does|did|is|are|was|were|has|have|had|can|could|will|would|should|must|might|need|ai|wo|ca|sha"
# Those that are written without an apostrophe, "havent", and are no other word: "wont" and "cant" may be.
UNMARKED: Final = "do|does|did|is|are|was|were|has|have|had|could|would|should|must|might|need|ai"
_FINITE: Final = "do|does|did|is|are|was|were|has|have|had|can|could|will|would|shall|should|must|may|might"
_SUBJECT: Final = "i|you|we|he|she|it|they|this|that|there"
# Negations in form only. They come first, so that no cue is seen within them.
_PSEUDO: Final = (
    r"not (?:only|just|merely|simply|least|to (?:mention|worry)|a problem|(?:so |too |very )?(?:long|far|bad))"
    r"|(?:no|not) (?:later|more|less|fewer|longer|sooner|earlier|greater) than|(?:whether )?or not|more often than not"
    r"|no (?:doubt|matter|wonder|problem|worries|\d+)|no\. ?\d+|no(?= ?[,.!])|nothing but|none other than|why not"
    r"|without (?:a )?(?:doubt|fail|question)|can(?:not|'?t) (?:help|wait)|(?:do not|don't) (?:hesitate|forget|mind)"
    rf"|(?:why )?(?:{AUXILIARY})n't (?:{_SUBJECT})"
)
_CLAUSAL: Final = (
    r"in no (?:event|case|way)|under no circumstances?|on no account|by no means|at no (?:time|point)"
    r"|nobody|no[ -]one|nothing|none|neither|nowhere|nor"
)
_CUE: Final = (
    r"not|no longer|no|never|hardly|barely|scarcely|cannot|cant"
    rf"|(?:{AUXILIARY})n't|(?:{UNMARKED})nt|(?<!his )(?<!her )(?<!their )wont(?! to\b)"
)
# Negations by meaning: one beneath a cue is an affirmation ("never failed to").
_LEXICAL: Final = r"fail(?:s|ed|ing)? to|(?:refus|declin)(?:e|es|ed|ing) to|(?:unable|unwilling) to"
# What only denies its complement: "pay without a word", "at no cost", "by post and not by mail".
_ADJUNCT: Final = r"without|instead of|rather than"
_CONTRAST: Final = r"(?:with|at|for|in|of|to|on|from|by) no|(?:and|but) not|(?<=, )not"
# What begins another clause. A comma does, unless an enumeration follows ("no fever, cough or pain").
_STOP: Final = (
    r"[;!?\n]|[.:](?!\w)|,(?! (?:n?or|and)\b|(?: [\w'-]+){1,3} ?,? ?n?or\b)|\b(?:but|however|yet)\b"
    rf"|\band (?={_SUBJECT}\b)|\b(?:and|or) (?=(?:{_FINITE})\b(?!n't))|, and (?=(?:[\w'-]+ ){{0,4}}?(?:{_FINITE})\b)"
)
_SUBORDINATE: Final = (
    r"if|unless|until|because|although|though|while|whereas|when|where|whether|so that|provided that|once|since"
    r"|to the extent|notwithstanding|except"
)
# Clauses of these verbs go on within them: "I think that it did not".
_SAYING: Final = (
    r"(?:sa(?:y|ys|id)|tell|told|think|thought|know|knew|sure|believe|feel|hope|afraid|mean|means|see|agrees?|agreed|so"
    r"|warrants?|represents?|acknowledges?|says|saying|confirm(?:s|ed)?|provided) that"
)
_RELATIVE: Final = r"who|whom|whose|which|that"
_OBJECT_RELATIVE: Final = re.compile(
    rf" (?:(?:{_FINITE})(?:n't)?|cannot|the|a|an|any|its|their|your|our|my|{_SUBJECT})\b"
)
_REDUCED: Final = re.compile(r" \w+ing\b")
_GROUPS: Final = {
    "pseudo": _PSEUDO,
    "clausal": _CLAUSAL,
    "lexical": _LEXICAL,
    "adjunct": _ADJUNCT,
    "contrast": _CONTRAST,
    "cue": _CUE,
    "subordinate": _SUBORDINATE,
    "saying": _SAYING,
    "relative": _RELATIVE,
    "finite": _FINITE,
}
_WORDS: Final = "|".join(f"(?P<{name}>{pattern})" for name, pattern in _GROUPS.items())
_TOKEN: Final = re.compile(rf"(?P<stop>{_STOP})|\b(?:{_WORDS})\b(?!')|(?P<word>\w[\w'-]*)")
# A word or a mark. Most words begin no pattern.
_SIMPLE: Final = re.compile(r"\w[\w'-]*|[;!?\n,]|[.:](?!\w)")
_BEGINNINGS: Final = frozenset(
    f"""
    not no more whether or nothing none why without can cannot cant do in under on by at nobody neither
    nowhere nor never hardly barely scarcely fail fails failed failing refuse refuses refused refusing decline declines
    declined declining unable unwilling instead rather with for of to from and but however yet {_FINITE} {AUXILIARY}
    if unless until because although though while whereas when where so provided once since notwithstanding except
    say says said saying tell told think thought know knew sure believe feel hope afraid mean means see agree agrees
    agreed warrant warrants represent represents acknowledge acknowledges confirm confirms confirmed {_RELATIVE}
    """.replace("|", " ").split()
)
_UNMARKED_CUES: Final = frozenset(("wont", "cant", *(f"{verb}nt" for verb in UNMARKED.split("|"))))
_CUES: Final = frozenset(("clausal", "lexical", "adjunct", "contrast", "cue"))
_LEXICALS: Final = frozenset(("lexical", "adjunct"))
_PREDICATE: Final = re.compile(
    rf"(?:{AUXILIARY})(?:n't| not| never) (?:\w+ )?"
    r"(?:possible|allowed|permitted|available|accepted|happen(?:ed)?|work(?:ed)?)\b"
    r"|(?:is|was|are|were) (?:impossible|refused|denied|declined|rejected|prohibited|forbidden)\b"
)
# What is typed as an apostrophe is read as a plain one; offsets stay.
_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2019\u2018\u02bc\u00b4\uff07`", "'"))


class Reach(Enum):
    """The scope that a cue denies."""

    CLAUSE = auto()  # what its clause says: "does not apply"
    PHRASE = auto()  # what follows, and not what the clause says before: "without regard to"
    BEFORE = auto()  # what precedes a predicate: "is impossible"


class Negation(NamedTuple):
    """A cue at the code points ``start`` to ``end``, and the code points that it denies.

    ``lexical`` negations are verbs and prepositions; one within the scope of another negation is an affirmation.
    """

    start: int
    end: int
    scope_start: int
    scope_end: int
    reach: Reach
    lexical: bool


@dataclass
class Clause:
    """A clause from ``start`` on, by the places of its words. Relative and fronted clauses are subordinate."""

    start: int
    subordinate: bool
    resumes: bool = False  # goes on after a parenthesis, with a finite verb
    finite: bool = False
    words: list[int] = field(default_factory=list)
    end: int = 0


class Reading(NamedTuple):
    """The clauses and the negations of a text, in order."""

    clauses: list[Clause]
    negations: tuple[Negation, ...]


@dataclass
class _Scope:
    negation: Negation
    left: int
    clause: Clause


def negations(text: str) -> tuple[Negation, ...]:
    """The negations of a text. Offsets are code points.

    >>> text = "It is fine, without regard to noise, but we couldn't book."
    >>> [(text[n.start : n.end], text[n.scope_start : n.scope_end]) for n in negations(text)]
    [('without', 'regard to noise'), ("couldn't", 'book')]
    """
    return read_negations(text).negations


def read_negations(text: str) -> Reading:
    """The negations of a text, with its clauses."""
    reader = _Reader(plain(text))
    for kind, match in _tokens(reader.text):
        reader.read(kind, match)
    return reader.reading()


def plain(text: str) -> str:
    """A text in small letters with plain apostrophes; offsets stay."""
    small = text.lower()
    if len(small) != len(text):
        small = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
    return small.translate(_APOSTROPHES)


def _tokens(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """The words, cues and marks of a text, each by what it is."""
    match = _SIMPLE.search(text)
    while match is not None:
        beginning = match[0].partition("-")[0]
        token: re.Match[str] | None = match
        if beginning in _BEGINNINGS or beginning.endswith(("n't", "nt")) or not beginning[0].isalnum():
            token = _TOKEN.match(text, match.start())
        if token is not None:  # not the comma of an enumeration
            yield token.lastgroup or "word", token
        match = _SIMPLE.search(text, (token or match).end())


class _Reader:
    """Clauses and scopes up to the last word that was read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._clauses = [Clause(0, subordinate=False)]
        self._open: list[_Scope] = []
        self._closed: list[Negation] = []
        # The finite verb of the relative clause is still to come; None outside of one.
        self._awaits: bool | None = None

    def reading(self) -> Reading:
        self._close(self._open)
        return Reading(self._clauses, tuple(sorted(self._closed)))

    def read(self, kind: str, match: re.Match[str]) -> None:
        """Read the next word or mark."""
        if kind == "stop":
            self._begin(match.end(), resumes=match[0] == ",")
            return
        finite = kind == "finite" or match[0].endswith(("n't", "cannot")) or match[0] in _UNMARKED_CUES
        if kind == "subordinate":
            self._begin(match.start(), subordinate=True)
            # "While holding the key" has no finite verb of its own.
            self._awaits = False if _REDUCED.match(self.text, match.end()) else None
        elif kind == "relative":
            self._relative(match)
        elif finite:
            self._finite(match)
        elif kind == "clausal" and self._awaits is False and len(self._clauses[-1].words) > 1:
            self._resume(match.start())  # "in the fire that burned it no one was hurt"
        clause = self._clauses[-1]
        clause.subordinate |= kind == "adjunct" and not clause.words
        clause.resumes &= bool(clause.words) or finite
        clause.words.append(match.start())
        clause.end = match.end()
        self._reach(match.end())
        if kind in _CUES:
            self._deny(kind, match)

    def _begin(self, start: int, *, subordinate: bool = False, resumes: bool = False) -> None:
        self._close(self._open)
        self._awaits = None
        self._clauses.append(Clause(start, subordinate, resumes))

    def _relative(self, match: re.Match[str]) -> None:
        """A relative clause, within the scopes around it. "That" may be a pronoun of its own."""
        if not self._clauses[-1].words and match[0] == "that":
            return
        self._clauses.append(Clause(match.start(), subordinate=True))
        self._awaits = _OBJECT_RELATIVE.match(self.text, match.end()) is not None

    def _finite(self, match: re.Match[str]) -> None:
        """A finite verb; the second one after a relative pronoun belongs to the clause around it."""
        if self._awaits is False:
            self._resume(match.start())
        elif self._awaits:
            self._awaits = False
        clause = self._clauses[-1]
        clause.finite = True
        predicate = _PREDICATE.match(self.text, match.start())
        if predicate is not None:
            ends = match.start(), predicate.end(), clause.start, match.start()
            self._closed.append(Negation(*ends, Reach.BEFORE, lexical=False))

    def _resume(self, start: int) -> None:
        """Leave a relative clause for the one around it."""
        clause = self._clauses[-1]
        self._close([scope for scope in self._open if scope.clause is clause])
        self._clauses.append(Clause(start, subordinate=False, resumes=True))
        self._awaits = None

    def _deny(self, kind: str, match: re.Match[str]) -> None:
        reach = Reach.PHRASE if kind in ("adjunct", "contrast") else Reach.CLAUSE
        negation = Negation(*match.span(), match.end(), match.end(), reach, kind in _LEXICALS)
        words = _WHOLE_CLAUSE if kind == "clausal" else REACH
        self._open.append(_Scope(negation, words, self._clauses[-1]))

    def _reach(self, end: int) -> None:
        """Extend all scopes by a word."""
        for scope in self._open:
            scope.left -= 1
            scope.negation = scope.negation._replace(scope_end=end)
        self._close([scope for scope in self._open if not scope.left])

    def _close(self, scopes: list[_Scope]) -> None:
        for scope in scopes:
            first = min(scope.negation.scope_start + 1, scope.negation.scope_end)
            self._closed.append(scope.negation._replace(scope_start=first))
        self._open = [scope for scope in self._open if scope not in scopes]
