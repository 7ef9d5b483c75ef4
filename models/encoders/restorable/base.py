"""Text from vectors: what a restorer does, and what it answers (RE, section 3).

The product knows restorers by this protocol alone; ``models/encoders/restorable`` has the trained one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float32

# The vectors of one text: one for every stretch of its tokens, in their order.
Memory: TypeAlias = Float32[np.ndarray, "_vectors dim"]


@dataclass(frozen=True, slots=True)
class RestoredToken:
    """A stretch of restored text, and the probability that the model gave it, from 0 to 1. The end has no text."""

    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Restoration:
    """A restored text, by tokens; these, joined, are the text. The last one, without text, is its end.

    >>> Restoration((RestoredToken("a", 1.0), RestoredToken(" cat", 0.5), RestoredToken("", 0.9))).text
    'a cat'
    """

    tokens: tuple[RestoredToken, ...]

    @property
    def text(self) -> str:
        """The text."""
        return "".join(token.text for token in self.tokens)

    @property
    def confidence(self) -> float:
        """The confidence of the least certain token; 0 for no text."""
        return min((token.confidence for token in self.tokens), default=0.0)


@runtime_checkable
class Restorer(Protocol):
    """Maps texts to vectors and vectors back to texts."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def compared(self) -> int:
        """The number of the first values of a vector that searches compare; their cosine is the similarity."""

    @property
    def longest(self) -> int:
        """The maximum number of vectors of one text; a longer text is to be split."""

    @property
    def fingerprint(self) -> str:
        """Identifies everything that affects the vectors."""

    def fits(self, texts: Sequence[str]) -> list[bool]:
        """True if each text needs no more than ``longest`` vectors."""

    def meanings(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts compared"]:
        """The vectors that searches compare, at length 1: of texts of any length. Zeros for a text without tokens."""

    def encode(self, texts: Sequence[str]) -> list[Memory]:
        """The vectors of every text. Raises ``InvalidInput`` for a text that needs more than ``longest``."""

    def restore(
        self, memories: Sequence[Memory], *, beams: int = 1, most_tokens: int | None = None
    ) -> list[Restoration]:
        """The text of each text's vectors. Raises ``InvalidInput`` for vectors that are none of this restorer's."""
