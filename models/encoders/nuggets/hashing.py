"""Deterministic nuggets without weights, for tests and experiments."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from jaxtyping import Float32, Int32

from models.encoders.base import Encoder
from models.encoders.nuggets.base import Nuggets, ReadWindow, check_ratio
from models.ops.nuggets import count, segment_starts, top
from models.ops.similarity import normalize


class HashingNuggetEncoder:
    """A token's score is noise seeded by its id; its vector is the mean of the segment that it ends.

    >>> from models.encoders.hashing import HashingEncoder
    >>> encoder = HashingNuggetEncoder(HashingEncoder(dim=8))
    >>> (tokens,) = encoder.base.tokenize(["one two three four five six"])
    >>> (((vectors, nuggets),),) = encoder.forward([[tokens.ids]], 0.5)
    >>> vectors.shape, nuggets.vectors.shape, nuggets.tokens.tolist()
    ((6, 8), (3, 8), [0, 1, 4])
    """

    layer = 0

    def __init__(self, base: Encoder) -> None:
        self.base = base
        self.dim = base.dim
        self.fingerprint = f"hashing-nuggets.v1-{base.fingerprint}"

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]], ratio: float
    ) -> Iterator[list[ReadWindow]]:
        """Token vectors of ``base``, and nuggets that depend only on them and on the ids."""
        check_ratio(ratio)
        for batch in batches:
            (encoded,) = self.base.forward([batch])
            yield [(vectors, _nuggets(ids, vectors, ratio)) for ids, vectors in zip(batch, encoded, strict=True)]

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> list[Nuggets]:
        """The same nuggets."""
        (read,) = self.forward([batch], ratio)
        return [nuggets for _, nuggets in read]


def _nuggets(ids: Int32[np.ndarray, " tokens"], vectors: Float32[np.ndarray, "tokens dim"], ratio: float) -> Nuggets:
    scores = (ids.astype(np.uint32) * np.uint32(2_654_435_761)).astype(np.float32) / np.float32(2**32)
    chosen = top(scores, count(len(ids), ratio))
    sums = np.add.reduceat(vectors, segment_starts(chosen)) if len(chosen) else vectors[:0]
    return Nuggets(normalize(sums).astype(np.float32), chosen, scores[chosen])
