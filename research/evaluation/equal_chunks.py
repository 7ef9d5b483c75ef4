"""Means of equal chunks as if they were nuggets: what a whitening is fitted to, beside nuggets that are whitened."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from jaxtyping import Float32, Int32

from models.encoders.base import Encoder
from models.encoders.nuggets.base import Nuggets, ReadWindow
from models.ops.nuggets import count
from models.ops.similarity import normalize
from research.nugget_lm.selectors import chunk_bounds


class EqualChunks:
    """A nugget encoder whose nuggets are the means of as many equal chunks; each ends at its last token.

    >>> from models.encoders.hashing import HashingEncoder
    >>> encoder = EqualChunks(HashingEncoder(dim=4))
    >>> (nuggets,) = encoder.forward_query([np.array([1, 2, 3], np.int32)], 0.5)
    >>> nuggets.vectors.shape, nuggets.tokens.tolist()
    ((2, 4), [0, 2])
    """

    layer = 0

    def __init__(self, base: Encoder) -> None:
        self.base, self.dim = base, base.dim
        self.fingerprint = f"chunks-{base.fingerprint}"

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]], ratio: float
    ) -> Iterator[list[ReadWindow]]:
        """The token vectors of every window, and the means of its chunks."""
        for read in self.base.forward(batches):
            yield [(vectors, _chunks(vectors, ratio)) for vectors in read]

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> list[Nuggets]:
        """The means of the chunks of a few windows."""
        (read,) = self.forward([batch], ratio)
        return [chunks for _, chunks in read]


def chunk_means(vectors: Float32[np.ndarray, "tokens dim"], chunks: int) -> Float32[np.ndarray, "chunks dim"]:
    """Unit-length means of equal chunks.

    >>> chunk_means(np.array([[2, 0], [0, 1], [0, 3]], np.float32), 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    means = [vectors[start:end].mean(axis=0) for start, end in chunk_bounds(len(vectors), chunks)]
    return normalize(np.stack(means)).astype(np.float32) if means else vectors[:0]


def _chunks(vectors: Float32[np.ndarray, "_tokens dim"], ratio: float) -> Nuggets:
    chunks = count(len(vectors), ratio)
    ends = np.array([end - 1 for _, end in chunk_bounds(len(vectors), chunks)], np.int64)
    return Nuggets(chunk_means(vectors, chunks), ends, np.zeros(len(ends), np.float32))
