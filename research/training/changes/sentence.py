"""A sentence as rules see it: its tokens with their places, and a guess at each one's part of speech."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Final, Literal

from research.training.changes.inflections import Form, like, readings, with_articles
from research.training.changes.word_lists import word_set
from research.training.changes.wordnet import Part, WordNet
from research.training.contrast_data import Kind

Reading = tuple[Part, str, Form]
Rule = Callable[["Sentence"], Iterator["Change"]]
_TOKEN: Final = re.compile(r"[A-Za-z]+(?:['\u2019][A-Za-z]+)?|\d+(?:[.,:/]\d+)*|\S")
DETERMINERS: Final = word_set(
    "a an the this that these those my your his her its our their each every any no some another"
)
SUBJECTS: Final = {"i", "you", "he", "she", "we", "they", "it", "who"}
MODALS: Final = word_set("can could will would shall should may might must cannot can't won't")
MODALS_LEFT: Final = MODALS | word_set("to don't doesn't didn't please not i'll we'll you'll they'll let's")
HAVING: Final = word_set("have has had is are was were be been being i've we've you've they've")
PREPOSITIONS: Final = word_set(
    "of in on at by for with from to into about under over after before between through per within"
)
_BEFORE_NO_NOUN: Final = word_set("so very too be is are was were been really quite not")


@dataclass(frozen=True, slots=True)
class Change:
    """A changed copy of a text, and in what it departs: *same* in nothing that matters."""

    kind: Kind | Literal["same"]
    text: str


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a sign, and where it stands."""

    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        """The token in small letters, with a straight apostrophe."""
        return self.text.lower().replace("\u2019", "'")


@dataclass(frozen=True)
class Sentence:
    """A text and its tokens; chance that the text itself seeds."""

    text: str
    wordnet: WordNet | None

    @cached_property
    def tokens(self) -> list[Token]:
        """Words, numbers and signs in their order."""
        return [Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(self.text)]

    @cached_property
    def chance(self) -> Random:
        """Random numbers that are the same for the same text."""
        return Random(self.text)  # noqa: S311

    @property
    def question(self) -> bool:
        """True if it asks."""
        openings = word_set("can could is are do does did will would what how why when where who")
        return "?" in self.text or (bool(self.tokens) and self.tokens[0].low in openings)

    @property
    def stated(self) -> bool:
        """True if it has a verb that one sees without a parser."""
        finite = word_set("is are was were am has have had i'm it's we're please") | MODALS | SUBJECTS
        return any(token.low in finite for token in self.tokens)

    def low(self, index: int) -> str:
        """A token in small letters, or nothing beyond the ends."""
        return self.tokens[index].low if 0 <= index < len(self.tokens) else ""

    def put(self, first: int, last: int, words: str) -> str:
        """The text with other words in the place of the tokens from ``first`` to ``last``, in their case."""
        start, end = self.tokens[first], self.tokens[last]
        put = like(start.text, words) if first == 0 or (start.text.isupper() and len(start.text) > 1) else words
        return with_articles(f"{self.text[: start.start]}{put}{self.text[end.end :]}")

    @cached_property
    def parts(self) -> list[Reading | None]:
        """Part of speech, basic form and form of each token, where neighbours and frequency agree."""
        return [self._part(index) for index in range(len(self.tokens))]

    def part(self, index: int) -> Reading | None:
        """Reading of a token, if one is known; None beyond the ends."""
        return self.parts[index] if 0 <= index < len(self.tokens) else None

    def _part(self, index: int) -> Reading | None:
        word, before = self.low(index), self.low(index - 1)
        if self.wordnet is None or len(word) < 3 or not word.isalpha():
            return None
        if index and self.tokens[index].text[0].isupper():
            return None  # a name
        known = {(p, base, form) for base, form in readings(word) for p in _parts(form) if self.wordnet.knows(base, p)}
        ranked = sorted(known, key=lambda reading: (-self.wordnet.count(reading[1], reading[0]), reading))  # type: ignore[union-attr]
        verb = before in MODALS_LEFT or before in SUBJECTS
        noun = before in DETERMINERS or before.endswith("'s")
        for part, base, form in ranked:
            if verb and (part != "v" or form == "ing" or (before in MODALS_LEFT and form != "base")):
                continue
            if noun and not verb and part in {"v", "r"}:
                continue
            if part == "n" and before in _BEFORE_NO_NOUN:
                continue
            if part == "v" and form == "base" and not verb and not _may_command(before):
                continue
            if form in {"past", "participle"} and part == "v":
                form = "participle" if before in HAVING or self.low(index - 2) in HAVING else "past"
            if verb or self.wordnet.share(base, part) > (0.5 if noun else 0.8):
                return part, base, form
        return None


def _may_command(before: str) -> bool:
    """True if a verb in its basic form may follow a word that is no subject: at the start, or after a plural."""
    return (
        not before.isalpha()
        or before in {"and", "or", "that", "which", "who", "people", "then"}
        or before.endswith("s")
    )


def _parts(form: Form) -> tuple[Part, ...]:
    if form == "base":
        return "n", "v", "a", "r"
    if form == "s":
        return "n", "v"
    return ("a",) if form in {"er", "est"} else ("v",)
