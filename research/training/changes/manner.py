"""Rules that keep what is said and change how: contractions, courtesy, sentences around it, order, slips of the pen."""

import re
from collections.abc import Iterator
from typing import Final

from research.training.changes.inflections import like
from research.training.changes.lexicon import CLOSINGS, OPENINGS
from research.training.changes.sentence import DETERMINERS, PREPOSITIONS, SUBJECTS, Change, Sentence
from research.training.changes.word_lists import any_of

_CONTRACTED: Final = {
    "do not": "don't", "does not": "doesn't", "did not": "didn't", "is not": "isn't", "are not": "aren't",
    "was not": "wasn't", "were not": "weren't", "cannot": "can't", "could not": "couldn't", "will not": "won't",
    "would not": "wouldn't", "should not": "shouldn't", "has not": "hasn't", "have not": "haven't", "I am": "I'm",
    "I will": "I'll", "I have been": "I've been", "we are": "we're", "you are": "you're", "they are": "they're",
    "it is": "it's", "we will": "we'll", "you will": "you'll", "I would": "I'd", "that is": "that's",
}  # fmt: skip
_EXPANDED: Final = {short: long for long, short in _CONTRACTED.items() if short not in {"it's", "that's", "I'd"}}
_OTHER: Final = {words.lower(): other for words, other in (_CONTRACTED | _EXPANDED).items()}
_CONTRACTION: Final = any_of(_OTHER)
_OPENERS: Final = DETERMINERS | SUBJECTS | PREPOSITIONS | {"please", "there", "when", "if", "can"}
_ASKING: Final = re.compile(r"\b(?:know|ask|see|sure|wonder|check|tell|me|not|only|even|just|is|was)$")
_KEEP_I: Final = {"I", "I'm", "I'll", "I've", "I'd"}


def contractions(sentence: Sentence) -> Iterator[Change]:
    """Copies with one contraction more, or one fewer."""
    for match in _CONTRACTION.finditer(sentence.text):
        other = _OTHER[match[0].lower()]
        put = other if match[0].startswith("I") else like(match[0], other)
        yield Change("same", f"{sentence.text[: match.start()]}{put}{sentence.text[match.end() :]}")


def courtesy(sentence: Sentence) -> Iterator[Change]:
    """Copies with a word to begin with, a request put politely, and sentences before or after."""
    text, chance = sentence.text, sentence.chance
    opening, closing = chance.choice(OPENINGS), chance.choice(CLOSINGS)
    if sentence.tokens and re.match(r"[A-Za-z]", text):
        yield Change("same", f"{opening} {_lowered(sentence)}")
    if not re.search(r"[?]$", text):
        yield Change("same", f"{text}{'' if re.search(r'[.!]$', text) else '.'} {closing}")
    yield Change("same", f"{chance.choice(CLOSINGS)} {_raised(text)}")
    if sentence.low(0) == "please":
        yield Change("same", _raised(re.sub(r"^please,? ", "", text, flags=re.IGNORECASE)))
    if match := re.match(r"(Can|Could|Would|Will) you (?!please|like|be)", text):
        yield Change("same", f"{text[: match.end()]}please {text[match.end() :]}")


def _lowered(sentence: Sentence) -> str:
    """The text with a small first letter, unless that is a name's."""
    first = sentence.tokens[0]
    small = first.text not in _KEEP_I and first.low in DETERMINERS | SUBJECTS | PREPOSITIONS | {
        "please",
        "there",
        "when",
        "if",
        "can",
    }
    return sentence.text[0].lower() + sentence.text[1:] if small else sentence.text


def _raised(text: str) -> str:
    return text[:1].upper() + text[1:]


def order(sentence: Sentence) -> Iterator[Change]:
    """Copies in which two joined nouns change places, and in which a subordinate clause goes first or last."""
    for index in range(1, len(sentence.tokens) - 1):
        if sentence.low(index) in {"and", "or"} and _parts(sentence, index):
            left, right = sentence.tokens[index - 1], sentence.tokens[index + 1]
            joint = sentence.text[left.end : right.start]
            yield Change(
                "same", f"{sentence.text[: left.start]}{right.text}{joint}{left.text}{sentence.text[right.end :]}"
            )
    if re.search(r"\bonly\b", sentence.text):
        return  # what it goes with depends on the order
    if match := re.fullmatch(r"(If|When|Unless|Because|After|Before) ([^,.;?]+), ([^,.;?]+)([.!]?)", sentence.text):
        yield Change("same", f"{_raised(match[3])} {match[1].lower()} {match[2]}{match[4]}")
    ended = re.fullmatch(r"([^,.;?]{12,}) (if|when|unless|because) ([^,.;?]{8,}?)([.!]?)", sentence.text)
    if ended and not match and not _ASKING.search(ended[1]):
        yield Change("same", f"{_raised(ended[2])} {ended[3]}, {_lowered(Sentence(ended[1], None))}{ended[4]}")


def _parts(sentence: Sentence, index: int) -> bool:
    """True if a conjunction joins two single words of one part of speech that nothing else goes with."""
    left, right = sentence.part(index - 1), sentence.part(index + 1)
    before, after = sentence.low(index - 2), sentence.low(index + 2)
    alike = left is not None and right is not None and left[0] == right[0] == "n" and left[2] == right[2]
    return alike and before in PREPOSITIONS | DETERMINERS and (not after.isalnum() or after in PREPOSITIONS)


def slips(sentence: Sentence) -> Iterator[Change]:
    """Copies as they are typed in haste: without capitals, without signs, with two letters in the wrong order."""
    yield Change("same", sentence.text.lower())
    if re.search(r"[.!]$", sentence.text):
        yield Change("same", sentence.text[:-1])
    words = [token for token in sentence.tokens if re.fullmatch(r"[a-z]{7,}", token.text)]
    if words:
        word = sentence.chance.choice(words)
        at = word.start + sentence.chance.randrange(2, len(word.text) - 2)
        pair = sentence.text[at : at + 2]
        yield Change("same", f"{sentence.text[:at]}{pair[::-1]}{sentence.text[at + 2 :]}")
