"""Texts and the words that stand near them: what facets are trained on (section 2.1 of the paper)."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Int32

from research.evaluation.wikipedia import Article, is_held_out
from research.training.sources import sentences
from research.training.word_vector_files import STOP_WORDS, stop_ids
from spanseek_facets.forward import MOST_WORDS
from spanseek_facets.readers import Reader, WordReader
from spanseek_facets.word_vectors import WordVectors, split_words

Kind: TypeAlias = Literal["sentences", "phrases"]
_WINDOW = 5  # words on each side of a phrase
_LONGEST = 3  # words of a phrase
_SHORTEST = 3  # words of a sentence

Ids: TypeAlias = Int32[np.ndarray, " _words"]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Text as a reader reads it, and the words near it that are no stop words, as numbers."""

    text: Ids
    near: Ids


def read_neighbourhoods(
    articles: Iterable[Article],
    words: WordVectors,
    kind: Kind,
    most: int,
    excluded: Sequence[str] = (),
    reader: Reader | None = None,
) -> list[Neighbourhood]:
    """So many texts of articles that are not held out, less excluded sentences, as a reader reads them."""
    reader = reader or WordReader(words)
    left_out = {_key(text) for text in excluded}
    paragraphs = (
        paragraph
        for article in articles
        if not is_held_out(article)
        for section in article.sections
        for paragraph in section.paragraphs
    )
    make = of_sentences if kind == "sentences" else of_phrases
    found = (near for paragraph in paragraphs for near in make(_kept(paragraph, left_out), words, reader))
    return list(islice(found, most))


def of_sentences(texts: Sequence[str], words: WordVectors, reader: Reader) -> Iterator[Neighbourhood]:
    """Every sentence of at most 50 words that is read at once, with the words of the sentences before and after it."""
    ids, read = [words.text_ids(text) for text in texts], reader.ids(texts)
    stops = stop_ids(words)
    content = [row[~np.isin(row, stops)] for row in ids]
    for place, row in enumerate(ids):
        near = np.concatenate([row[:0], *content[max(0, place - 1) : place], *content[place + 1 : place + 2]])
        if _SHORTEST <= len(row) <= MOST_WORDS and len(near) and len(read[place]) <= reader.longest:
            yield Neighbourhood(read[place], near)


def of_phrases(texts: Sequence[str], words: WordVectors, reader: Reader) -> Iterator[Neighbourhood]:
    """Every run of one to three words between stop words, with the words within five places of it."""
    for text in texts:
        running = [word for word in split_words(text) if word in words.places]
        for begin, end in phrase_bounds(running):
            near = running[max(0, begin - _WINDOW) : begin] + running[end : end + _WINDOW]
            ids = words.ids(word for word in near if word not in STOP_WORDS)
            if len(ids):
                (read,) = reader.ids([" ".join(running[begin:end])])
                yield Neighbourhood(read, ids)


def phrase_bounds(running: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of runs of at most three words between stop words; longer runs give their last three.

    >>> list(phrase_bounds("the hot dog is a large and very old hot tasty snack".split()))
    [(1, 3), (5, 6), (9, 12)]
    """
    begin = 0
    for place in range(len(running) + 1):
        if place == len(running) or running[place] in STOP_WORDS:
            if begin < place:
                yield max(begin, place - _LONGEST), place
            begin = place + 1


def draw(
    texts: Sequence[Neighbourhood], batch: int, most: int, seed: int, step: int
) -> tuple[list[Ids], list[Ids], list[Ids]]:
    """The texts of a step, words near them, and words near others (negative samples), at most so many for each."""
    rng = random.Random(f"facets/{seed}/{step}")  # noqa: S311  sampling, not secrets
    drawn = [texts[rng.randrange(len(texts))] for _ in range(batch)]
    others = [texts[rng.randrange(len(texts))] for _ in range(batch)]
    return (
        [row.text for row in drawn],
        [_some(row.near, most, rng) for row in drawn],
        [_some(row.near, most, rng) for row in others],
    )


def _some(ids: Ids, most: int, rng: random.Random) -> Ids:
    return ids if len(ids) <= most else ids[sorted(rng.sample(range(len(ids)), most))]


def _kept(paragraph: str, left_out: set[str]) -> list[str]:
    return [text for text in sentences(paragraph) if not left_out or _key(text) not in left_out]


def _key(text: str) -> str:
    return " ".join(split_words(text))
