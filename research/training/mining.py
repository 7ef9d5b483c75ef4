"""Graded pairs that no one graded: short texts that lie near one another, with the frozen backbone for a judge.

People graded a few thousand pairs, from few fields, and an encoder learns these by heart. The frozen backbone, which
reads both texts alone, judges pairs of any field nearly as people do; read in context, they teach the search to.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from models.backbones import Backbone, load_backbone
from models.packages import DEFAULT
from models.sampling import sample
from research.training.pseudo_labels import Grader, cosines_of
from research.training.reading import alone
from research.training.sources import (
    PHRASES,
    PROSE,
    GradedPair,
    fold,
    read_graded_pairs,
    sentences,
    snli_pairs,
    split_sentences,
)

NEAR = 5_000  # pairs of neighbours
AMONG_GRADED = 11_000
PLAIN = 6_000
WRITTEN = 1_500  # pairs of each set in which people wrote one text after the other
_OF_A_KIND = 3_000
_PARAGRAPHS = 10_000
_WORDS = range(3, 25)
_PLAIN_WORDS = range(3, 15)
_FREQUENT = 1_500
_WORD = re.compile(r"[a-z]+(?:['\u2019][a-z]+)?")
_NUMBER = re.compile(r"\d")
_FARTHEST = 200
_ANYWHERE = 1 / 6
_AT_ONCE = 256


def mined_pairs(folder: Path) -> Iterator[GradedPair]:
    """Pairs of short texts of a data folder, graded from 0 to 1 on the scale of the graded pairs; always the same."""
    rng = random.Random("mined")  # noqa: S311  sampling, not secrets
    teacher = load_backbone(DEFAULT)
    grader = Grader([cosines_of(teacher)], read_graded_pairs(folder))
    yield from grader.graded(_neighbours(_short_texts(folder, rng), NEAR, teacher, rng))
    for pairs in (snli_pairs(folder), _split_pairs(folder)):
        yield from grader.graded(sample(pairs, WRITTEN, rng))


def neighbouring_pairs(folder: Path) -> Iterator[GradedPair]:
    """Pairs of neighbours among the sentences that people graded, less those they graded so spelled; graded alike."""
    people = read_graded_pairs(folder)
    known = {frozenset((pair.query, pair.paraphrase)) for pair in people}
    texts = list({fold(text): text for pair in people for text in (pair.query, pair.paraphrase)}.values())
    teacher, rng = load_backbone(DEFAULT), random.Random("neighbours")  # noqa: S311  sampling, not secrets
    near = [pair for pair in _neighbours(texts, AMONG_GRADED, teacher, rng) if frozenset(pair) not in known]
    yield from Grader([cosines_of(teacher)], people).graded(near)


def plain_pairs(folder: Path) -> Iterator[GradedPair]:
    """Pairs of neighbours among sentences of common words alone ("It is up to you."); graded as above.

    In a context such a sentence is drowned by what stands around it, unless an encoder has learnt to keep it.
    """
    teacher, rng = load_backbone(DEFAULT), random.Random("plain")  # noqa: S311  sampling, not secrets
    texts = plain_sentences(_prose(folder))
    yield from Grader([cosines_of(teacher)], read_graded_pairs(folder)).graded(_neighbours(texts, PLAIN, teacher, rng))


def plain_sentences(prose: Mapping[str, Sequence[str]]) -> list[str]:
    """Sentences of words that are frequent in most kinds of prose, none twice.

    >>> calls, news = ["We did it. My parcel is lost.", "It is what we did."], ["It is what we did!"]
    >>> plain_sentences({"calls": calls, "news": news})
    ['We did it.', 'It is what we did.']
    """
    frequent: Counter[str] = Counter()
    for texts in prose.values():
        counted = Counter(word for text in texts for word in _WORD.findall(text.lower()))
        frequent.update(word for word, _ in counted.most_common(_FREQUENT))
    common = {word for word, kinds in frequent.items() if kinds > len(prose) / 2}
    found: dict[str, str] = {}
    for texts in prose.values():
        for sentence in (sentence.strip() for text in texts for sentence in sentences(text)):
            words = _WORD.findall(sentence.lower())
            if len(words) in _PLAIN_WORDS and common.issuperset(words) and not _NUMBER.search(sentence):
                found.setdefault(fold(sentence), sentence)
    return list(found.values())


def _neighbours(texts: Sequence[str], count: int, teacher: Backbone, rng: random.Random) -> list[tuple[str, str]]:
    """So many pairs of texts near one another, less those that were drawn before, the same text first."""
    near = near_pairs(alone(teacher, texts).numpy(), count, rng)
    return list(dict.fromkeys((texts[this], texts[other]) for this, other in near))


def near_pairs(vectors: Float32[np.ndarray, "texts dim"], count: int, rng: random.Random) -> list[tuple[int, int]]:
    """Pairs of texts by number: one of them any text, the other its n-th neighbour, small n more often.

    The rank's logarithm is drawn evenly, so that there are as many pairs of near texts as of far ones. One pair of six
    is of any two texts.

    >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
    >>> [this != other for this, other in near_pairs(vectors, 4, random.Random(1))]
    [True, True, True, True]
    """
    ranks = [_rank(len(vectors) - 1, rng) for _ in range(count)]
    these = rng.choices(range(len(vectors)), k=count)
    found = []
    for begin in range(0, count, _AT_ONCE):
        numbers = these[begin : begin + _AT_ONCE]
        distances = -(vectors[numbers] @ vectors.T)
        distances[np.arange(len(numbers)), numbers] = -math.inf  # rank 0 is the text itself
        for this, row, rank in zip(numbers, distances, ranks[begin : begin + _AT_ONCE], strict=True):
            found.append((this, int(np.argpartition(row, rank)[rank])))
    return found


def _rank(last: int, rng: random.Random) -> int:
    if rng.random() < _ANYWHERE:
        return rng.randint(1, last)
    return int(math.exp(rng.uniform(0, math.log(min(_FARTHEST, last) + 1))))


def _split_pairs(folder: Path) -> Iterator[tuple[str, str]]:
    for long, parts in split_sentences(folder):
        yield from ((long, part) for part in parts)


def _short_texts(folder: Path, rng: random.Random) -> list[str]:
    """Some thousand texts of every kind, none twice: short ones, and sentences of prose."""
    kinds = {name: source.read(folder) for name, source in PHRASES.items()}
    kinds |= {name: _sentences(islice(source.read(folder), _PARAGRAPHS)) for name, source in PROSE.items()}
    kinds["stsb"] = (text for pair in read_graded_pairs(folder) for text in (pair.query, pair.paraphrase))
    found: dict[str, str] = {}
    for name in sorted(kinds):
        whole = (text.strip() for text in kinds[name] if len(text.split()) in _WORDS)
        found |= {fold(text): text for text in sample(whole, _OF_A_KIND, rng)}
    return list(found.values())


def _prose(folder: Path) -> dict[str, list[str]]:
    """Paragraphs of every kind, and what customers write."""
    kinds = PROSE | {"multidogo": PHRASES["multidogo"]}
    return {name: list(islice(source.read(folder), _PARAGRAPHS)) for name, source in kinds.items()}


def _sentences(paragraphs: Iterator[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield from sentences(paragraph)
