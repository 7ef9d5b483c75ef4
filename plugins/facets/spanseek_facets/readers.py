"""The input of the network of facets: vectors of its words, or of its tokens by a frozen encoder."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32, Int32

from models.encoders.base import Encoder, forward_texts
from models.ops.batching import padded
from spanseek_facets.forward import MOST_WORDS
from spanseek_facets.word_vectors import WordVectors

Ids: TypeAlias = Int32[np.ndarray, " _ids"]
Batch: TypeAlias = tuple[Float32[np.ndarray, "texts ids read"], Bool[np.ndarray, "texts ids"]]


@runtime_checkable
class Reader(Protocol):
    """Texts to numbers, and numbers to vectors. ``longest`` is how many of a text are read at once."""

    @property
    def dim(self) -> int:
        """The length of a vector."""

    @property
    def longest(self) -> int:
        """The most numbers that are read at once."""

    @property
    def fingerprint(self) -> str:
        """Identifies everything that affects the vectors, except word vectors."""

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The numbers of every text; a text may have none."""

    def vectors(self, ids: Sequence[Ids]) -> Batch:
        """The vectors of some texts as one batch, and the mask of real ones."""


class WordReader:
    """Static vectors of the words of a text, less those that the vocabulary lacks.

    >>> words = WordVectors(("tea", "cup"), np.eye(2, dtype=np.float32), np.ones(2))
    >>> WordReader(words).vectors(WordReader(words).ids(["Cup of tea", "tea"]))[0].tolist()
    [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]]
    """

    longest = MOST_WORDS
    fingerprint = "words"

    def __init__(self, words: WordVectors) -> None:
        self._words = words
        self.dim = words.dim

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The numbers of the known words of every text."""
        return [self._words.text_ids(text) for text in texts]

    def vectors(self, ids: Sequence[Ids]) -> Batch:
        """The vectors of words; padding has the first word's."""
        numbers, mask = padded(ids)
        return self._words.vectors[numbers], mask


class EncoderReader:
    """The token vectors of a frozen encoder, by its network for texts; it need not load torch."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.dim = encoder.dim
        self.longest = encoder.window
        self.fingerprint = encoder.fingerprint

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The tokens of every text."""
        return [tokens.ids for tokens in self._encoder.tokenize(texts)]

    def vectors(self, ids: Sequence[Ids]) -> Batch:
        """The vectors of tokens; padding has zeros."""
        _, mask = padded(ids)
        vectors = np.zeros((*mask.shape, self.dim), np.float32)
        real = [each for each in ids if len(each)]
        if real:
            vectors[mask] = np.concatenate(forward_texts(self._encoder, real))
        return vectors, mask
