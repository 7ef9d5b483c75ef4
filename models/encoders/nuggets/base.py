"""Nuggets: token vectors that represent a text, selected by a scorer (Qin and Van Durme, 2023, sections 3.1 to 3.3).

A nugget encoder reads a window once, as any encoder does, and returns its token vectors and its nuggets. A nugget's
vector is computed from the selected token, or from the segment that ends there; the weights define which.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int, Int32

from models.encoders.base import Encoder
from models.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Nuggets:
    """The nuggets of one window.

    ``vectors`` have length 1; ``tokens`` are positions among the window's tokens, ascending; ``scores`` come
    from the scorer.
    """

    vectors: Float32[np.ndarray, "nuggets dim"]
    tokens: Int[np.ndarray, " nuggets"]
    scores: Float32[np.ndarray, " nuggets"]

    def __len__(self) -> int:
        return len(self.tokens)


# The token vectors of one window, as ``Encoder.forward`` returns them, and its nuggets.
ReadWindow: TypeAlias = tuple[Float32[np.ndarray, "_tokens dim"], Nuggets]


@runtime_checkable
class NuggetEncoder(Protocol):
    """Maps batches of windows to token vectors and nuggets, in one forward pass."""

    @property
    def base(self) -> Encoder:
        """The encoder that tokenizes and produces the token vectors."""

    @property
    def dim(self) -> int:
        """Length of a nugget."""

    @property
    def layer(self) -> int:
        """The number of bottom layers shared with ``base``; the scorer reads their output."""

    @property
    def fingerprint(self) -> str:
        """Identifies everything that affects the nuggets, except the ratio."""

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]], ratio: float
    ) -> Iterator[list[ReadWindow]]:
        """The token vectors of every window of every batch, bit for bit as ``base`` gives them, and its nuggets.

        A window of ``n`` tokens has ``ceil(n * ratio)`` nuggets. Raises ``InvalidInput`` for a ratio outside (0, 1].
        """

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> list[Nuggets]:
        """The nuggets of a few non-empty windows, equal to ``forward`` up to rounding."""


def check_ratio(ratio: float) -> None:
    """Raise ``InvalidInput`` for a ratio of nuggets to tokens outside (0, 1].

    >>> check_ratio(0.25)
    """
    if not 0 < ratio <= 1:
        raise InvalidInput(
            f"A nugget ratio of {ratio} is not above 0 and at most 1.",
            hint="It is the share of tokens that become nuggets; 0.05 to 0.25 work well.",
            field="nugget_ratio",
        )
