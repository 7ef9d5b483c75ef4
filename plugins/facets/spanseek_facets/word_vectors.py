"""Static word vectors: a vocabulary, unit vectors, and how frequent every word is.

Facets are points in this space. Stored as int8 with one scale for each word, read without torch.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int32, Int64

from models.artifacts import load_artifact, read_checked
from models.errors import InvalidInput
from models.ops.similarity import normalize
from models.types import CharSpans

_WORD = re.compile(r"[^\W_]+")
WORDS = "words.txt"


def split_words(text: str) -> list[str]:
    """The words of a text in small letters; punctuation and apostrophes separate words.

    >>> split_words("It's 3 o'clock, John!")
    ['it', 's', '3', 'o', 'clock', 'john']
    """
    return _WORD.findall(text.lower())


def word_spans(text: str) -> tuple[list[str], CharSpans]:
    """The words of :func:`split_words`, and where they stand in the text; small letters may take more characters.

    >>> words, spans = word_spans("In İzmir")
    >>> words, spans.tolist()
    (['in', 'i', 'zmir'], [[0, 2], [3, 4], [4, 8]])
    """
    small = [letter.lower() for letter in text]
    origins = np.repeat(np.arange(len(text)), [len(letters) for letters in small])
    bounds = np.array([match.span() for match in _WORD.finditer(text.lower())], np.int64).reshape(-1, 2)
    return split_words(text), np.stack([origins[bounds[:, 0]], origins[bounds[:, 1] - 1] + 1], axis=1)


@dataclass(frozen=True)
class WordVectors:
    """Words, their unit vectors, and their shares of the corpus, all in the same order.

    >>> vectors = WordVectors(("tea", "cup"), np.array([[1, 0], [0.6, 0.8]], np.float32), np.array([0.5, 0.25]))
    >>> vectors.nearest(np.array([[1.0, 0.1]], np.float32), 1)
    [[('tea', 0.995)]]
    >>> vectors.ids(["mug", "cup", "tea"]).tolist()
    [1, 0]
    """

    words: tuple[str, ...]
    vectors: Float32[np.ndarray, "words dim"]
    shares: Float[np.ndarray, " words"]
    sha256: str = ""

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return self.vectors.shape[1]

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of every word."""
        return {word: place for place, word in enumerate(self.words)}

    def ids(self, words: Iterable[str]) -> Int32[np.ndarray, " known"]:
        """The numbers of the words that the vocabulary has."""
        places = self.places
        return np.array([places[word] for word in words if word in places], np.int32)

    def text_ids(self, text: str) -> Int32[np.ndarray, " known"]:
        """The numbers of the words of a text, less those that the vocabulary lacks."""
        return self.ids(split_words(text))

    def nearest(self, points: Float[np.ndarray, "points dim"], count: int) -> list[list[tuple[str, float]]]:
        """The nearest words of every point with their cosines, nearest first."""
        cosines = normalize(points.astype(np.float32)) @ self.vectors.T
        best: Int64[np.ndarray, "points count"] = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
        return [
            [(self.words[place], round(float(row[place]), 3)) for place in places]
            for row, places in zip(cosines, best, strict=True)
        ]


def load_word_vectors(folder: Path) -> WordVectors:
    """Read word vectors from a folder of weights."""
    artifact = load_artifact(folder)
    words = tuple(read_checked(folder / WORDS).decode("utf-8").splitlines())
    codes, shares = artifact.arrays["codes"], artifact.arrays["shares"]
    if len(words) != len(codes):
        raise InvalidInput(
            f"{folder / WORDS} has {len(words)} words for {len(codes)} vectors.",
            hint="Get the folder anew.",
            field="word_vectors",
        )
    return WordVectors(words, normalize(codes.astype(np.float32)), shares.astype(np.float64), artifact.sha256)
