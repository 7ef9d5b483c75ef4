"""Forward passes: the token vectors of windows, with the outputs for other representations by name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int32

from models.encoders.base import Encoder, forward_texts
from models.types import JsonValue


class WindowOutputs(NamedTuple):
    """Token vectors of one window, and the outputs for representations besides units."""

    vectors: Float32[np.ndarray, "_tokens dim"]
    others: Mapping[str, Any]


@runtime_checkable
class ForwardPass(Protocol):
    """The interface of the network for indexing jobs."""

    @property
    def details(self) -> Mapping[str, Mapping[str, JsonValue]]:
        """The details of every representation besides units in a recipe, each with a ``fingerprint``."""

    def forward(self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]) -> Iterator[list[WindowOutputs]]:
        """The outputs of every window of every batch, in order."""


class UnitPass:
    """A forward pass that returns token vectors only."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.details: Mapping[str, Mapping[str, JsonValue]] = {}

    def forward(self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]) -> Iterator[list[WindowOutputs]]:
        """Token vectors of every window of every batch, in order."""
        for vectors in self._encoder.forward(batches):
            yield [WindowOutputs(of_window, {}) for of_window in vectors]


class TextPass(UnitPass):
    """The same vectors up to their precision, without torch where the encoder can do without."""

    def forward(self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]) -> Iterator[list[WindowOutputs]]:
        """Token vectors of every window of every batch, in order."""
        for batch in batches:
            yield [WindowOutputs(of_window, {}) for of_window in forward_texts(self._encoder, batch)]
