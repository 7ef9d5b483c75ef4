"""Texts that SLICE is trained on: contexts by kind, short texts, graded pairs and questions."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from research.training.sources import PHRASES, PROSE, QUESTIONS, GradedPair, read_graded_pairs
from research.training.topical_pairs import TopicalPair, read_topical_pairs

_WORDS_ALONE = range(2, 25)


_WORD = re.compile(r"[a-z]{4,}")


@dataclass(frozen=True, slots=True)
class Texts:
    """Material of batches: paragraphs that serve as context, by kind; short texts; graded pairs.

    ``near`` gives a context of a phrase's own topic (:class:`research.training.reading.Topics`), if asked for.
    """

    prose: dict[str, list[str]]
    phrases: dict[str, list[str]]
    pairs: list[GradedPair]
    by_word: dict[str, list[str]]
    questions: Sequence[str] = ()
    near: Callable[[str, random.Random], str] | None = None
    topical: Mapping[str, Sequence[TopicalPair]] = field(default_factory=dict)


NO_TEXTS = Texts({}, {}, [], {})


def read_texts(folder: Path, excluded: Sequence[str], *, questions: bool = False, topical: bool = False) -> Texts:
    """Everything training reads, from one data folder, but graded pairs that have an excluded sentence."""
    prose = {name: list(source.read(folder)) for name, source in PROSE.items()}
    phrases = {
        name: [text.strip() for text in source.read(folder) if len(text.split()) in _WORDS_ALONE]
        for name, source in PHRASES.items()
    }
    pairs = read_graded_pairs(folder, excluded)
    phrases["stsb"] = [text for pair in pairs for text in (pair.query, pair.paraphrase)]
    question_texts = [text for source in QUESTIONS.values() for text in source.read(folder)] if questions else []
    topical_pairs = read_topical_pairs(folder) if topical else {}
    return Texts(prose, phrases, pairs, index_by_word(prose), question_texts, topical=topical_pairs)


def add_own(texts: Texts, own: Sequence[str], pairs: Sequence[GradedPair]) -> Texts:
    """The same texts, and those a user brings: all of them as contexts, short ones and those of pairs as phrases too.

    >>> added = add_own(NO_TEXTS, ["Where is my parcel?"], [GradedPair("late", "too late", 0.8)])
    >>> added.prose, added.phrases
    ({'own': ['Where is my parcel?']}, {'own': ['Where is my parcel?', 'late', 'too late']})
    """
    short = [text for text in own if len(text.split()) in _WORDS_ALONE]
    short += [text for pair in pairs for text in (pair.query, pair.paraphrase)]
    prose = texts.prose | ({"own": list(own)} if own else {})
    phrases = texts.phrases | ({"own": short} if short else {})
    return replace(texts, prose=prose, phrases=phrases, pairs=[*texts.pairs, *pairs], by_word=index_by_word(prose))


def index_by_word(prose: dict[str, list[str]], most: int = 60) -> dict[str, list[str]]:
    """Paragraphs by the words of four letters and more in them; of every second paragraph where there are many.

    Words of a single paragraph are left out; of a frequent word, at most ``most`` paragraphs are kept.

    >>> index_by_word({"a": ["Cats purr.", "cats sleep"], "b": ["dogs bark"]})["cats"]
    ['Cats purr.', 'cats sleep']
    """
    by_word: dict[str, list[str]] = {}
    for paragraphs in prose.values():
        for paragraph in paragraphs[::2] if len(paragraphs) > most else paragraphs:
            for word in words_of(paragraph):
                by_word.setdefault(word, []).append(paragraph)
    return {
        word: paragraphs[:: 1 + len(paragraphs) // most] for word, paragraphs in by_word.items() if len(paragraphs) > 1
    }


def words_of(text: str) -> set[str]:
    """The words of four letters and more, in small letters: those that say what a text is about.

    >>> sorted(words_of("The cat's late fees, again: late!"))
    ['again', 'fees', 'late']
    """
    return set(_WORD.findall(text.lower()))
