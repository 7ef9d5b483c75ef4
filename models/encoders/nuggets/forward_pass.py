"""A forward pass that returns nuggets with the token vectors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int32

from models.encoders.nuggets.base import NuggetEncoder
from models.encoders.passes import WindowOutputs
from models.types import JsonValue


@dataclass(frozen=True, slots=True)
class NuggetPass:
    """A nugget encoder, and the share of tokens that become nuggets."""

    encoder: NuggetEncoder
    ratio: float

    @property
    def details(self) -> Mapping[str, Mapping[str, JsonValue]]:
        """The details of the nuggets in a recipe."""
        return {"nuggets": {"fingerprint": self.encoder.fingerprint, "dim": self.encoder.dim, "ratio": self.ratio}}

    def forward(self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]) -> Iterator[list[WindowOutputs]]:
        """Token vectors and nuggets of every window of every batch, in order."""
        for windows in self.encoder.forward(batches, self.ratio):
            yield [WindowOutputs(vectors, {"nuggets": nuggets}) for vectors, nuggets in windows]
