"""Graded pairs that no one graded: short texts that lie near one another, with the frozen backbone for a judge.

People graded a few thousand pairs, from few fields, and an encoder learns these by heart. The frozen backbone, which
reads both texts alone, judges pairs of any field nearly as people do; read in context, they teach the search to.
"""

import math
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from models.backbones import Backbone, load_backbone
from models.packages import DEFAULT
from models.sampling import sample
from models.training.reading import alone
from models.training.sources import (
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
WRITTEN = 1_500  # pairs of each set in which people wrote one text after the other
_OF_A_KIND = 3_000
_PARAGRAPHS = 10_000
_WORDS = range(3, 25)
_FARTHEST = 200
_ANYWHERE = 1 / 6
_AT_ONCE = 256


def mined_pairs(folder: Path) -> Iterator[GradedPair]:
    """Pairs of short texts of a data folder, graded from 0 to 1 on the scale of the graded pairs; always the same."""
    rng = random.Random("mined")  # noqa: S311  sampling, not secrets
    teacher = load_backbone(DEFAULT)
    scale = _Scale(teacher, read_graded_pairs(folder))
    texts = _short_texts(folder, rng)
    near = near_pairs(alone(teacher, texts).numpy(), NEAR, rng)
    yield from scale.graded([(texts[this], texts[other]) for this, other in near])
    for pairs in (snli_pairs(folder), _split_pairs(folder)):
        yield from scale.graded(sample(pairs, WRITTEN, rng))


class _Scale:
    """Grades as people would give them: a straight line through the cosines of pairs that people graded."""

    def __init__(self, teacher: Backbone, graded: Sequence[GradedPair]) -> None:
        self._teacher = teacher
        cosines = self._cosines([(pair.query, pair.paraphrase) for pair in graded])
        self._line = np.polyfit(cosines, [pair.score for pair in graded], 1)

    def graded(self, pairs: Sequence[tuple[str, str]]) -> Iterator[GradedPair]:
        grades = np.polyval(self._line, self._cosines(pairs)).clip(0, 1)
        for (query, paraphrase), grade in zip(pairs, grades, strict=True):
            yield GradedPair(query, paraphrase, round(float(grade), 4))

    def _cosines(self, pairs: Sequence[tuple[str, str]]) -> Float32[np.ndarray, " pairs"]:
        queries, paraphrases = (alone(self._teacher, side).numpy() for side in zip(*pairs, strict=True))
        return np.einsum("pd,pd->p", queries, paraphrases)


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


def _sentences(paragraphs: Iterator[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield from sentences(paragraph)
