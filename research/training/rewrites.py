"""Sentences said in other words, by rules: synonyms, words left out or changed about, fillers, clauses.

A rewrite keeps the meaning. It need not be good English: it teaches nuggets to ignore wording.
"""

import random
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from research.training.sources import need

_WORD = re.compile(r"[a-z]{3,}")
_APART = re.compile(r"(\w)([.,;:?!)\"]|'(?:s|re|ll|ve|m|d)\b|n't\b)|([(\"])(\w)")
_SMALL = frozenset(
    {"a", "an", "the", "this", "these", "that", "those", "there", "of", "to", "in", "on", "at", "by", "for", "with"}
    | {"and", "or", "but", "so", "is", "are", "was", "were", "be", "been", "am", "do", "does", "did", "have", "has"}
    | {"had", "will", "would", "can", "could", "just", "very", "really", "quite", "now", "then", "also", "too", "still"}
)
_FILLERS = ("well ,", "yes ,", "so ,", "and", "but", "you know ,", "now ,", "okay ,", "of course ,", "in fact ,")
_SPELLINGS = (
    (" do not ", " don't "),
    (" does not ", " doesn't "),
    (" did not ", " didn't "),
    (" is not ", " isn't "),
    (" can not ", " can't "),
    (" cannot ", " can't "),
    (" will not ", " won't "),
    (" i am ", " i'm "),
    (" it is ", " it's "),
    (" that is ", " that's "),
    (" we are ", " we're "),
    (" you are ", " you're "),
    (" they are ", " they're "),
    (" i have ", " i've "),
    (" i will ", " i'll "),
    (" we will ", " we'll "),
    (" going to ", " gonna "),
    (" want to ", " wanna "),
    (" the man ", " the guy "),
    (" for example ", " for instance "),
)
_MOST_SYNONYMS = 12


@dataclass(frozen=True, slots=True)
class RewriteShape:
    """Probabilities with which a rule is applied: to a word, or to a sentence."""

    synonym: float = 0.25
    drop: float = 0.08
    drop_small: float = 0.25
    swap: float = 0.04
    spelling: float = 0.7
    filler: float = 0.15
    turn_about: float = 0.25
    crop: float = 0.2


def read_synonyms(folder: Path) -> dict[str, list[str]]:
    """Words of PPDB (CC BY 3.0) by word, as nltk distributes them: pairs that mean about the same."""
    path = need(folder / "nltk/mwa_ppdb.zip")
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("pairs"))
        rows = [line.split("\t") for line in archive.read(name).decode("utf-8", "replace").splitlines()]
    synonyms: dict[str, list[str]] = {}
    for first, second in (row for row in rows if len(row) == 2 and all(map(_WORD.fullmatch, row))):
        synonyms.setdefault(first, []).append(second)
        synonyms.setdefault(second, []).append(first)
    return synonyms


def known_synonyms(
    synonyms: Mapping[str, Sequence[str]], frequencies: Mapping[str, int], least: int
) -> dict[str, list[str]]:
    """The synonyms that texts use at least so often, of words that do; PPDB has many that are slips.

    >>> known_synonyms({"big": ["large", "bgi"], "bgi": ["big"]}, {"big": 9, "large": 5}, least=3)
    {'big': ['large']}
    """
    frequent = {
        word: sorted(
            {other for other in others if frequencies.get(other, 0) >= least},
            key=lambda other: (-frequencies[other], other),
        )
        for word, others in synonyms.items()
        if frequencies.get(word, 0) >= least and word not in _SMALL
    }
    return {word: others[:_MOST_SYNONYMS] for word, others in frequent.items() if others}


def rewrite(
    sentence: str, synonyms: Mapping[str, Sequence[str]], rng: random.Random, shape: RewriteShape | None = None
) -> str:
    """A sentence in other words.

    >>> rewrite("The big dog is not here.", {"big": ["large"]}, random.Random(5), RewriteShape(synonym=1, crop=0))
    'The large dog not here.'
    """
    shape = shape or RewriteShape()
    if rng.random() < shape.crop:
        sentence = _cropped(sentence, rng)
    if rng.random() < shape.turn_about:
        sentence = _turned_about(sentence)
    if rng.random() < shape.spelling:
        sentence = _respelt(sentence, rng)
    words = [_replaced(word, synonyms, rng, shape.synonym) for word in sentence.split()]
    remaining = [word for word in words if rng.random() >= (shape.drop_small if word.lower() in _SMALL else shape.drop)]
    remaining = _swapped(remaining or words, rng, shape.swap)
    if rng.random() < shape.filler:
        remaining.insert(0, rng.choice(_FILLERS))
    return " ".join(remaining)


def set_apart(text: str) -> str:
    """A text with white space around signs, as some corpora have it.

    >>> set_apart('It\\'s "late", I don\\'t go.')
    'It \\'s " late " , I do n\\'t go .'
    """
    for _ in range(2):
        text = _APART.sub(lambda match: " ".join(part for part in match.groups() if part), text)
    return re.sub(r"([\"'.,!?)])(?=[\"'.,!?)])", r"\1 ", text)


def _cropped(sentence: str, rng: random.Random) -> str:
    """A sentence without its first or its last clause, if what is left is most of it."""
    clauses = re.split(r"(?<=[,;:])\s+", sentence)
    if len(clauses) < 2:
        return sentence
    left = clauses[1:] if rng.random() < 0.5 else clauses[:-1]
    cropped = " ".join(left)
    return cropped if 2 * len(cropped) > len(sentence) else sentence


def _turned_about(sentence: str) -> str:
    """The part before a comma behind the rest."""
    body, stop = (sentence[:-1], sentence[-1]) if sentence.endswith((".", "?", "!")) else (sentence, "")
    before, comma, after = body.partition(", ")
    return f"{after}, {before}{stop}" if comma and after else sentence


def _respelt(sentence: str, rng: random.Random) -> str:
    lowered = f" {sentence} "
    for long, short in _SPELLINGS:
        if rng.random() < 0.7:
            swapped = (long, short) if long in lowered else (short, long)
            lowered = lowered.replace(*swapped)
    return lowered.strip()


def _replaced(word: str, synonyms: Mapping[str, Sequence[str]], rng: random.Random, share: float) -> str:
    match = _WORD.search(word.lower())
    if not match or match.group() not in synonyms or rng.random() >= share:
        return word
    return word.lower().replace(match.group(), rng.choice(synonyms[match.group()]))


def _swapped(words: list[str], rng: random.Random, share: float) -> list[str]:
    swapped = list(words)
    for place in range(len(swapped) - 1):
        if rng.random() < share:
            swapped[place], swapped[place + 1] = swapped[place + 1], swapped[place]
    return swapped
