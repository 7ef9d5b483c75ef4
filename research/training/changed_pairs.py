"""Pairs for a verifier from real text: a phrase and a text that says it, or says another thing by a minimal change.

A sentence and its changed copy give four rows: the phrase of each with a text of its own, which says it, and with one
of the other, which does not. So neither the phrase nor the text tells the label alone; and the texts are chosen so that
those that say it share as many words with the phrase as those that do not.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Final, Literal

from research.training.changes.sentence import Sentence
from research.training.changes.wordnet import WordNet
from research.training.contrast_data import ContrastLine, Kind, shared_words
from research.training.minimal_changes import DRESS, REWORD, different, made

Label = Literal["match", "differs", "unrelated"]
_OPENING: Final = re.compile(
    r"^(?:(?:yes|yeah|ok|okay|hi|hello|hey|so|and|but|oh|um)\b[,.!]* +|"
    r"(?:no|well|sure|great|also|however|right|alright|then)[,.!]+ +)+",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(r" ?\([^()]*\)")
_CUT: Final = re.compile(
    r"(?:, (?:and|but|which|who|because|so|while|where|including|such as|as|although)|;| because| --?) "
)
_LENGTH: Final = 0.004  # what a word too many counts beside a share of words
_ANOTHER: Final = 0.34  # a sentence that shares no more of a phrase's words speaks of another matter
_WORDS_AT_MOST: Final = 16
_FAR: Final = 6  # how often at most a text that says it is reworded, and one that does not
_EVEN: Final = 0.15  # the most that a kind may have of all changes; there are nine
_NEAR: Final = 3


@dataclass(frozen=True, slots=True)
class Row:
    """A phrase, a text, whether it says the phrase, and in what it departs: *same* in nothing, *topic* in all."""

    phrase: str
    text: str
    label: Label
    kind: Kind | Literal["same"]


@dataclass(slots=True)
class Balance:
    """Excess so far, in shared words and in all words, of the texts that say it; and the uses of each kind."""

    ahead: float = 0.0
    longer: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def rows(self, phrases: tuple[str, str], texts: tuple[Sequence[str], Sequence[str]], kind: Kind) -> tuple[Row, Row]:
        """A row that matches and one that differs, of the texts that leave both labels even in words."""
        every = [
            (
                self.ahead + shared_words(phrases[0], says) - shared_words(phrases[1], denies),
                self.longer + len(says.split()) - len(denies.split()),
                says,
                denies,
            )
            for says, denies in product(_others(texts[0], phrases[0]), texts[1])
        ]
        self.ahead, self.longer, says, denies = min(every, key=lambda row: abs(row[0]) + _LENGTH * abs(row[1]))
        return Row(phrases[0], says, "match", "same"), Row(phrases[1], denies, "differs", kind)


def changed_pairs(sentences: Sequence[str], wordnet: WordNet | None, seed: int) -> Iterator[Row]:
    """Rows from some sentences of one source, in their order: four of a change, and one or two that are unrelated.

    Kinds are kept as even as the sentences allow. A sentence that no rule changes gives nothing.
    """
    chance, balance = Random(seed), Balance()  # noqa: S311
    for sentence in sentences:
        pair = _pair(sentence, wordnet, balance, chance)
        if pair is not None:
            yield from _four(*pair, wordnet, balance, chance, sentences)
            yield from _unrelated(phrase_of(pair[0]), sentences, chance)


def phrase_of(text: str) -> str:
    """A short form of a sentence: without greeting, asides, and what follows its first clause.

    >>> phrase_of("Hi, the agent (a new one) has never called, which is a shame.")
    'the agent has never called'
    """
    text = _ASIDE.sub("", _OPENING.sub("", text)).strip()
    text = re.sub(r"^please,? ", "", text, flags=re.IGNORECASE)
    cut = next((m for m in _CUT.finditer(text) if len(text[: m.start()].split()) > 3), None)
    if cut and Sentence(text[: cut.start()], None).stated:
        text = text[: cut.start()]
    return text.rstrip(".! ,")


def _pair(text: str, wordnet: WordNet | None, balance: Balance, chance: Random) -> tuple[str, str, Kind] | None:
    """A sentence, its copy of the kind that is rarest so far, and the kind."""
    phrase = phrase_of(text)
    whole = Sentence(phrase, wordnet)
    claims = whole.stated or any(reading is not None and reading[0] == "v" for reading in whole.parts)
    if not (claims and 3 <= len(phrase.split()) <= _WORDS_AT_MOST):
        return None
    every = [c for c in different(text, wordnet) if c.kind != "same" and phrase_of(c.text).lower() != phrase.lower()]
    if not every:
        return None
    chance.shuffle(every)
    change = min(every, key=lambda change: balance.kinds[change.kind])
    if balance.kinds[change.kind] > 4 + _EVEN * balance.kinds.total():
        return None
    balance.kinds[change.kind] += 1
    assert change.kind != "same"  # noqa: S101
    return text, change.text, change.kind


def _four(
    text: str, other: str, kind: Kind, wordnet: WordNet | None, balance: Balance, chance: Random, around: Sequence[str]
) -> Iterator[Row]:
    for own, foreign in ((text, other), (other, text)):
        phrase = _reworded(phrase_of(own), wordnet, chance, chance.choice((0, 0, 1)))[-1]
        says = _dressed(own, wordnet, chance, around, _FAR)
        denies = _dressed(foreign, wordnet, chance, around, _NEAR)
        yield from balance.rows(
            (phrase, phrase),
            (
                says + _among(own, phrase, around, chance, 0.0),
                denies + _among(foreign, phrase, around, chance, _ANOTHER),
            ),
            kind,
        )


def _among(text: str, phrase: str, around: Sequence[str], chance: Random, most: float) -> list[str]:
    """A text before another sentence that shares no more of the phrase's words than allowed, if there is one."""
    other = _near_sentence(phrase, around, chance, most)
    return [] if other is None else [_joined(text, other)]


def _reworded(text: str, wordnet: WordNet | None, chance: Random, times: int) -> list[str]:
    """A text, and what it becomes by each of some changes that keep its meaning."""
    texts = [text]
    for _ in range(times):
        copies = [change.text for change in made(texts[-1], wordnet, REWORD) if change.text not in texts]
        if not copies:
            break
        texts.append(chance.choice(copies))
    return texts


def _dressed(
    text: str, wordnet: WordNet | None, chance: Random, around: Sequence[str], times: int = _NEAR
) -> list[str]:
    """A text reworded ever further, each time as somebody might say or type it, or among other sentences."""
    return [_put_on(words, wordnet, chance, around) for words in _reworded(text, wordnet, chance, times)]


def _put_on(text: str, wordnet: WordNet | None, chance: Random, around: Sequence[str]) -> str:
    dress, beside = chance.random(), chance.choice(around)
    if dress < 0.4:
        return chance.choice(made(text, wordnet, DRESS)).text
    if dress < 0.7 and len(beside.split()) < 16 and shared_words(text, beside) < 0.1:
        return _joined(beside, text) if chance.random() < 0.5 else _joined(text, beside)
    return text


def _joined(first: str, second: str) -> str:
    return f"{first}{'' if first[-1] in '.!?' else '.'} {second}"


def _others(texts: Sequence[str], phrase: str) -> Sequence[str]:
    """The texts that are not the phrase itself, if there are any."""
    return [text for text in texts if text.strip(".! ").lower() != phrase.lower()] or texts


def _unrelated(phrase: str, around: Sequence[str], chance: Random) -> Iterator[Row]:
    """A sentence that shares no word with a phrase, or the one of some that shares most and is still another matter."""
    text = _near_sentence(phrase, around, chance, _ANOTHER if chance.random() < 0.5 else 0.0)
    if text is not None:
        yield Row(phrase, text, "unrelated", "topic")


def _near_sentence(phrase: str, around: Sequence[str], chance: Random, most: float) -> str | None:
    """The one of some sentences that shares most words with a phrase, of those that speak of another matter."""
    some = chance.sample(around, min(40, len(around)))
    shared = ((shared_words(phrase, text), text) for text in some if len(text.split()) > 3)
    return max(((share, text) for share, text in shared if share <= most), default=(0.0, None))[1]


def changed_lines(lines: Sequence[ContrastLine], wordnet: WordNet | None, seed: int) -> Iterator[Row]:
    """Four rows from each written line whose phrase a rule changes: the phrase and its copy, each with two texts.

    Two of the texts say the phrase in words of their own; the other two are made of the changed copy.
    """
    chance, balance = Random(seed), Balance()  # noqa: S311
    around = [line.same for line in lines]
    for line in lines:
        pair = _pair(line.phrase, wordnet, balance, chance)
        if pair is None:
            continue
        phrase, other = (_reworded(words, wordnet, chance, 1)[-1] for words in pair[:2])
        says, denies = (_dressed(pair[1], wordnet, chance, around, times) for times in (_FAR, _NEAR))
        yield from balance.rows((phrase, other), ((line.same, line.same_close), (line.same, line.same_close)), pair[2])
        yield from balance.rows((other, phrase), (says, denies), pair[2])
