"""Forward passes: the token vectors of windows, and what else comes with them, by name of representation."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int32

from models.encoders.base import Encoder
from models.types import JsonValue


class WindowOutputs(NamedTuple):
    """Token vectors of one window, and the outputs for representations besides units."""

    vectors: Float32[np.ndarray, "_tokens dim"]
    others: Mapping[str, Any]


@runtime_checkable
class ForwardPass(Protocol):
    """What an indexing job asks of the network."""

    @property
    def details(self) -> Mapping[str, Mapping[str, JsonValue]]:
        """How every representation besides units is made, as recipes keep it; with a ``fingerprint`` each."""

    def forward(self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]) -> Iterator[list[WindowOutputs]]:
        """Outputs of every window of every batch, in order."""


class UnitPass:
    """Token vectors alone."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.details: Mapping[str, Mapping[str, JsonValue]] = {}

    def forward(self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]) -> Iterator[list[WindowOutputs]]:
        """Token vectors of every window of every batch, in order."""
        for vectors in self._encoder.forward(batches):
            yield [WindowOutputs(of_window, {}) for of_window in vectors]
