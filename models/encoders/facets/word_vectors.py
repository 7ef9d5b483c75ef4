"""Static word vectors: a vocabulary, unit vectors, and how frequent every word is.

Facets are points in this space. Stored as int8 with one scale for each word, read without torch.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int32, Int64

from models.artifacts import load_artifact, read_checked, save_artifact
from models.errors import InvalidInput
from models.ops.similarity import normalize
from models.types import CharSpans, JsonValue

_WORD = re.compile(r"[^\W_]+")
WORDS = "words.txt"

_STOP_WORDS = (
    "a about above after again against all also am an and any are aren as at be because been before being below "
    "between both but by can cannot could couldn d did didn do does doesn doing don down during each few for from "
    "further had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it "
    "its itself let ll m me more most mustn my myself no nor not of off on once only or other ought our ours ourselves "
    "out over own re s same shan she should shouldn so some such t than that the their theirs them themselves then "
    "there these they this those through to too under until up ve very was wasn we were weren what when where which "
    "while who whom why with won would wouldn you your yours yourself yourselves"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


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

    @cached_property
    def stop_ids(self) -> Int32[np.ndarray, " stops"]:
        """The numbers of stop words."""
        return np.sort(self.ids(STOP_WORDS))

    def nearest(self, points: Float[np.ndarray, "points dim"], count: int) -> list[list[tuple[str, float]]]:
        """The nearest words of every point with their cosines, nearest first."""
        cosines = normalize(points.astype(np.float32)) @ self.vectors.T
        best: Int64[np.ndarray, "points count"] = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
        return [
            [(self.words[place], round(float(row[place]), 3)) for place in places]
            for row, places in zip(cosines, best, strict=True)
        ]


def save_word_vectors(folder: Path, vectors: WordVectors, config: dict[str, JsonValue]) -> str:
    """Write word vectors as int8 weights and a list of words; returns the checksum."""
    import torch

    scales = np.abs(vectors.vectors).max(axis=1, keepdims=True) / 127
    codes = np.rint(vectors.vectors / np.where(scales > 0, scales, 1)).astype(np.int8)
    tensors = {"codes": torch.from_numpy(codes), "shares": torch.from_numpy(vectors.shares.astype(np.float32))}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WORDS).write_text("\n".join(vectors.words) + "\n", "utf-8")
    return save_artifact(folder, tensors, config).sha256


def load_word_vectors(path: Path) -> WordVectors:
    """Read word vectors: a folder of weights, or a text file of GloVe or word2vec."""
    if path.is_file():
        return read_text_vectors(path)
    artifact = load_artifact(path)
    words = tuple(read_checked(path / WORDS).decode("utf-8").splitlines())
    codes, shares = artifact.arrays["codes"], artifact.arrays["shares"]
    if len(words) != len(codes):
        raise InvalidInput(
            f"{path / WORDS} has {len(words)} words for {len(codes)} vectors.",
            hint="Get the folder anew.",
            field="word_vectors",
        )
    return WordVectors(words, normalize(codes.astype(np.float32)), shares.astype(np.float64), artifact.sha256)


def read_text_vectors(path: Path) -> WordVectors:
    """Read a text file with a word and its numbers on every line; a first line of two numbers (word2vec) is skipped.

    Such files do not hold frequencies: by Zipf's law, a word's share falls with its place. Words that differ in their
    capitals alone count once. A word may hold spaces, as some of GloVe's do. Raises ``InvalidInput`` for a line of
    another form.
    """
    words: dict[str, Float32[np.ndarray, " dim"]] = {}
    dim = 0
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip().split(" ")
            if number == 1 and len(fields) == 2:
                continue
            dim = dim or len(fields) - 1
            word = " ".join(fields[:-dim]) if dim else ""
            if not word:
                raise _not_vectors(path, number)
            words.setdefault(word.lower(), _numbers(path, number, fields[-dim:]))
    if not words:
        raise _not_vectors(path, 1)
    shares = 1 / np.arange(1, len(words) + 1)
    with path.open("rb") as binary:
        sha256 = hashlib.file_digest(binary, "sha256").hexdigest()
    return WordVectors(tuple(words), normalize(np.stack(list(words.values()))), shares / shares.sum(), sha256)


def _numbers(path: Path, line: int, fields: Sequence[str]) -> Float32[np.ndarray, " dim"]:
    try:
        return np.array(fields, np.float32)
    except ValueError as error:
        raise _not_vectors(path, line) from error


def _not_vectors(path: Path, line: int) -> InvalidInput:
    return InvalidInput(
        f"{path.name} is no file of word vectors: see line {line}.",
        hint="Every line has a word and as many numbers as all others, with spaces between.",
        field="word_vectors",
    )
