"""A deterministic encoder without weights, for tests and experiments.

Equal words get equal vectors and different words nearly orthogonal ones, so that a search finds literal matches.
"""

from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

import numpy as np
from jaxtyping import Float32, Int32, UInt64

from models.text import units
from models.text.tokens import Tokens
from models.text.units import OLDEST

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class HashingEncoder:
    """One token per unit of ``text.v1``; its vector is noise seeded by the word in lower case.

    >>> encoder = HashingEncoder(dim=8)
    >>> (tokens,) = encoder.tokenize(["same Same other"])
    >>> ((vectors,),) = encoder.forward([[tokens.ids]])
    >>> bool((vectors[0] == vectors[1]).all()), bool((vectors[0] == vectors[2]).all())
    (True, False)
    """

    def __init__(self, dim: int = 64, window: int = 64) -> None:
        self.dim = dim
        self.window = window
        self.batch_tokens = 4_096
        self.fingerprint = f"hashing.v1-{units.VERSION}-{dim}-{window}"

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """One token for every unit; none is unknown."""
        return [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> Tokens:
        spans = units.split(text, OLDEST)
        words = (text[start:end].lower().encode("utf-8", "surrogatepass") for start, end in spans)
        ids = np.fromiter((crc32(word) & 0x7FFFFFFF for word in words), np.int32, len(spans))
        return Tokens(ids, spans, np.zeros(len(spans), bool))

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
    ) -> Iterator[list[Float32[np.ndarray, "_tokens dim"]]]:
        """Vectors with components between -1 and 1 that depend on the token alone."""
        for batch in batches:
            yield [self._vectors(ids) for ids in batch]

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """The same vectors."""
        (vectors,) = self.forward([batch])
        return vectors

    def _vectors(self, ids: Int32[np.ndarray, " tokens"]) -> Float32[np.ndarray, "tokens dim"]:
        cells = ids.astype(np.uint64)[:, None] * np.uint64(self.dim) + np.arange(self.dim, dtype=np.uint64)
        return (_splitmix(cells) >> np.uint64(40)).astype(np.float32) / np.float32(2**23) - np.float32(1)


def _splitmix(cells: UInt64[np.ndarray, "tokens dim"]) -> UInt64[np.ndarray, "tokens dim"]:
    """Steele, Lea and Flood's SplitMix64: a bijection with pseudo-random output."""
    mixed = (cells + np.uint64(1)) * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
