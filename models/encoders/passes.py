"""Forward passes: the token vectors of windows, with the outputs for other representations by name."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int32

from models.encoders.base import Encoder, forward_texts
from models.errors import InvalidInput
from models.types import JsonValue

# The token ids of windows.
Batches: TypeAlias = Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
# The token vectors of one window, and what a maker reads there.
WindowRead: TypeAlias = tuple[Float32[np.ndarray, "_tokens dim"], Any]


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

    def forward(self, batches: Batches) -> Iterator[list[WindowOutputs]]:
        """The outputs of every window of every batch, in order."""


@dataclass(frozen=True, slots=True)
class Maker:
    """The part of one representation in a forward pass: its details, and its outputs if it reads the network.

    ``details`` are those of the recipe. ``output`` goes with every window, such as a model of its texts. A
    representation that reads layers of the network gives ``forward``: the token vectors of every window of every batch,
    bit for bit as the encoder gives them, each with its output.
    """

    details: Mapping[str, JsonValue]
    output: Any = None
    forward: Callable[[Batches], Iterator[list[WindowRead]]] | None = None


_UNITS_ALONE: Final[Mapping[str, Maker]] = MappingProxyType({})


class UnitPass:
    """The forward pass of an encoder, with the outputs of makers by name; without any, token vectors only.

    Raises ``InvalidInput`` for two makers that read the network.
    """

    def __init__(self, encoder: Encoder, makers: Mapping[str, Maker] = _UNITS_ALONE) -> None:
        self._encoder = encoder
        self.details: Mapping[str, Mapping[str, JsonValue]] = {name: each.details for name, each in makers.items()}
        self._outputs = {name: maker.output for name, maker in makers.items()}
        reading = [(name, maker.forward) for name, maker in makers.items() if maker.forward is not None]
        if len(reading) > 1:
            raise InvalidInput(
                f"The representations {' and '.join(name for name, _ in reading)} cannot be made in one forward pass.",
                hint="Store one of them in a collection.",
                field="representations",
            )
        self._reading = reading[0] if reading else None

    def forward(self, batches: Batches) -> Iterator[list[WindowOutputs]]:
        """Token vectors and outputs of every window of every batch, in order."""
        if self._reading is None:
            for of_batch in self._encoder.forward(batches):
                yield [WindowOutputs(vectors, self._outputs) for vectors in of_batch]
        else:
            name, read = self._reading
            for windows in read(batches):
                yield [WindowOutputs(vectors, {**self._outputs, name: output}) for vectors, output in windows]


class TextPass(UnitPass):
    """The same vectors up to their precision, without torch where the encoder can do without."""

    def forward(self, batches: Batches) -> Iterator[list[WindowOutputs]]:
        """Token vectors of every window of every batch, in order."""
        for batch in batches:
            yield [WindowOutputs(of_window, {}) for of_window in forward_texts(self._encoder, batch)]
