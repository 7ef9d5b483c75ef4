"""Pseudo-labelled pairs: pairs of short texts mined from the data folder and labelled by models instead of people.

People graded a few thousand pairs in few fields, which an encoder learns by heart. The frozen backbone, which encodes
both texts separately, agrees with people nearly everywhere, so its similarities extend the training data to any field.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Float32

from models.backbones.packages import DEFAULT
from models.backbones.torch_network import Backbone, load_backbone
from models.ops.sampling import sample
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
WRITTEN = 1_500  # pairs of each set whose second text was written from the first
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

PairScorer: TypeAlias = Callable[[Sequence[tuple[str, str]]], Float32[np.ndarray, " pairs"]]


def cosines_of(encoder: Backbone) -> PairScorer:
    """A scorer: the cosine of an encoder's vectors of the two texts."""

    def score(pairs: Sequence[tuple[str, str]]) -> Float32[np.ndarray, " pairs"]:
        queries, paraphrases = (alone(encoder, side).numpy() for side in zip(*pairs, strict=True))
        return np.einsum("pd,pd->p", queries, paraphrases)

    return score


class PseudoLabeller:
    """A weighted sum of pair scorers, fitted to human grades by least squares.

    ``correlations`` holds Pearson's correlation with the grades, of every scorer and of the sum, on the fitted pairs.

    >>> graded = [GradedPair("a", "b", 0.2), GradedPair("a", "c", 0.4), GradedPair("b", "c", 0.6)]
    >>> def scorer(pairs):
    ...     return np.array([ord(one) + ord(other) for one, other in pairs], np.float32)
    >>> [pair.score for pair in PseudoLabeller([scorer], graded).label([("c", "c"), ("z", "z")])]
    [0.8, 1.0]
    """

    def __init__(self, scorers: Sequence[PairScorer], graded: Sequence[GradedPair]) -> None:
        self._scorers = scorers
        features = self._features([(pair.query, pair.paraphrase) for pair in graded])
        gold = np.array([pair.score for pair in graded])
        self._weights, *_ = np.linalg.lstsq(features, gold, rcond=None)
        columns = [*features.T[:-1], features @ self._weights]
        self.correlations = [float(np.corrcoef(column, gold)[0, 1]) for column in columns]

    def label(self, pairs: Sequence[tuple[str, str]]) -> list[GradedPair]:
        """Pairs with their labels, from 0 to 1."""
        labels = (self._features(pairs) @ self._weights).clip(0, 1)
        return [
            GradedPair(query, paraphrase, round(float(label), 4))
            for (query, paraphrase), label in zip(pairs, labels, strict=True)
        ]

    def _features(self, pairs: Sequence[tuple[str, str]]) -> Float[np.ndarray, "pairs scorers_and_one"]:
        return np.stack([*(score(pairs) for score in self._scorers), np.ones(len(pairs))], axis=1)


def mined_pairs(folder: Path) -> Iterator[GradedPair]:
    """Pairs of short texts of a data folder, labelled by the frozen backbone on the scale of human grades."""
    rng = random.Random("mined")  # noqa: S311  sampling, not secrets
    teacher = load_backbone(DEFAULT)
    labeller = PseudoLabeller([cosines_of(teacher)], read_graded_pairs(folder))
    yield from labeller.label(_neighbours(_short_texts(folder, rng), NEAR, teacher, rng))
    for pairs in (snli_pairs(folder), _split_pairs(folder)):
        yield from labeller.label(sample(pairs, WRITTEN, rng))


def neighbouring_pairs(folder: Path) -> Iterator[GradedPair]:
    """Pairs of neighbours among the sentences of graded pairs that were not graded themselves; labelled likewise."""
    graded = read_graded_pairs(folder)
    graded_pairs = {frozenset((pair.query, pair.paraphrase)) for pair in graded}
    texts = list({fold(text): text for pair in graded for text in (pair.query, pair.paraphrase)}.values())
    teacher, rng = load_backbone(DEFAULT), random.Random("neighbours")  # noqa: S311  sampling, not secrets
    near = [pair for pair in _neighbours(texts, AMONG_GRADED, teacher, rng) if frozenset(pair) not in graded_pairs]
    yield from PseudoLabeller([cosines_of(teacher)], graded).label(near)


def plain_pairs(folder: Path) -> Iterator[GradedPair]:
    """Pairs of neighbours among sentences of common words only ("It is up to you."); labelled likewise.

    Their context dominates the vectors of such sentences unless an encoder is trained on them.
    """
    teacher, rng = load_backbone(DEFAULT), random.Random("plain")  # noqa: S311  sampling, not secrets
    texts = plain_sentences(_prose(folder))
    yield from PseudoLabeller([cosines_of(teacher)], read_graded_pairs(folder)).label(
        _neighbours(texts, PLAIN, teacher, rng)
    )


def plain_sentences(prose: Mapping[str, Sequence[str]]) -> list[str]:
    """Distinct sentences of words that are frequent in most kinds of prose.

    >>> calls, news = ["We did it. My parcel is lost.", "It is what we did."], ["It is what we did!"]
    >>> plain_sentences({"calls": calls, "news": news})
    ['We did it.', 'It is what we did.']
    """
    frequent: Counter[str] = Counter()
    for texts in prose.values():
        counted = Counter(word for text in texts for word in _WORD.findall(text.lower()))
        frequent.update(word for word, _ in counted.most_common(_FREQUENT))
    common = {word for word, kinds in frequent.items() if kinds > len(prose) / 2}
    distinct: dict[str, str] = {}
    for texts in prose.values():
        for sentence in (sentence.strip() for text in texts for sentence in sentences(text)):
            words = _WORD.findall(sentence.lower())
            if len(words) in _PLAIN_WORDS and common.issuperset(words) and not _NUMBER.search(sentence):
                distinct.setdefault(fold(sentence), sentence)
    return list(distinct.values())


def _neighbours(texts: Sequence[str], count: int, teacher: Backbone, rng: random.Random) -> list[tuple[str, str]]:
    """``count`` pairs of neighbouring texts, without duplicates."""
    near = near_pairs(alone(teacher, texts).numpy(), count, rng)
    return list(dict.fromkeys((texts[this], texts[other]) for this, other in near))


def near_pairs(vectors: Float32[np.ndarray, "texts dim"], count: int, rng: random.Random) -> list[tuple[int, int]]:
    """Pairs of text numbers: a random text and its n-th neighbour.

    The logarithm of n is drawn uniformly, so near and far pairs are balanced. One pair of six is of two random texts.

    >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
    >>> [this != other for this, other in near_pairs(vectors, 4, random.Random(1))]
    [True, True, True, True]
    """
    ranks = [_rank(len(vectors) - 1, rng) for _ in range(count)]
    these = rng.choices(range(len(vectors)), k=count)
    pairs = []
    for begin in range(0, count, _AT_ONCE):
        numbers = these[begin : begin + _AT_ONCE]
        distances = -(vectors[numbers] @ vectors.T)
        distances[np.arange(len(numbers)), numbers] = -math.inf  # rank 0 is the text itself
        for this, row, rank in zip(numbers, distances, ranks[begin : begin + _AT_ONCE], strict=True):
            pairs.append((this, int(np.argpartition(row, rank)[rank])))
    return pairs


def _rank(last: int, rng: random.Random) -> int:
    if rng.random() < _ANYWHERE:
        return rng.randint(1, last)
    return int(math.exp(rng.uniform(0, math.log(min(_FARTHEST, last) + 1))))


def _split_pairs(folder: Path) -> Iterator[tuple[str, str]]:
    for long, parts in split_sentences(folder):
        yield from ((long, part) for part in parts)


def _short_texts(folder: Path, rng: random.Random) -> list[str]:
    """Some thousand distinct texts of every kind: short texts, and sentences of prose."""
    kinds = {name: source.read(folder) for name, source in PHRASES.items()}
    kinds |= {name: _sentences(islice(source.read(folder), _PARAGRAPHS)) for name, source in PROSE.items()}
    kinds["stsb"] = (text for pair in read_graded_pairs(folder) for text in (pair.query, pair.paraphrase))
    distinct: dict[str, str] = {}
    for name in sorted(kinds):
        whole = (text.strip() for text in kinds[name] if len(text.split()) in _WORDS)
        distinct |= {fold(text): text for text in sample(whole, _OF_A_KIND, rng)}
    return list(distinct.values())


def _prose(folder: Path) -> dict[str, list[str]]:
    """Paragraphs of every kind of prose, and customers' turns."""
    kinds = PROSE | {"multidogo": PHRASES["multidogo"]}
    return {name: list(islice(source.read(folder), _PARAGRAPHS)) for name, source in kinds.items()}


def _sentences(paragraphs: Iterator[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield from sentences(paragraph)
