"""The neural network of the encoders, run by torch: for bulk indexing and for training.

``models.backbones.files`` reads its files, ``models.backbones.folders`` locates them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Int32, Shaped
from torch import Tensor

from models.artifacts import arrays_of
from models.backbones.devices import (
    Fetched,
    ahead,
    free_memory,
    has_native_bf16,
    in_halves,
    memory_errors,
    resolve_device,
    send,
)
from models.backbones.files import BackboneFiles, Shape
from models.backbones.folders import locate, verified_weights
from models.backbones.layers import layers_of
from models.backbones.packages import DEFAULT
from models.backbones.transformers_network import load_network

# Most tokens of a batch on a GPU: more do not make it faster.
_BATCH_TOKENS = 2**16


@dataclass(frozen=True, slots=True)
class Launched:
    """A batch under way: the lengths of its windows, the tokens before each, and its hidden states."""

    lengths: Sequence[int]
    begin: int
    states: Fetched

    def vectors(self) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """The rows of every window, without special tokens and padding, when they have arrived."""
        return unpadded(self.states.array(), self.begin, self.lengths)


class Backbone(BackboneFiles):
    """Maps token ids to contextual token vectors, batch by batch, with the network that transformers builds.

    ``sha256`` is the checksum of the weights, if known already.
    """

    in_memory = True

    def __init__(
        self,
        folder: Path,
        *,
        device: str = "auto",
        window: int = 256,
        expected: str | None = None,
        sha256: str | None = None,
    ) -> None:
        sha256 = sha256 or verified_weights(folder, expected)
        self.device = resolve_device(device)
        network = load_network(folder)
        with memory_errors():
            self.model = network.model.to(self.device).eval().requires_grad_(False)
        shape = Shape(network.dim, min(window, network.positions or window))
        super().__init__(folder, sha256, network.tokenizer, shape, device)

    def parameters(self) -> dict[str, Shaped[np.ndarray, "..."]]:
        """The current parameters of the network, by name."""
        return arrays_of(self.model.state_dict())

    def layer_parameters(self, number: int) -> dict[str, Shaped[np.ndarray, "..."]]:
        """The current parameters of one layer, by their names within it."""
        return arrays_of(layers_of(self.model)[number].state_dict())

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(layers_of(self.model))

    def replace(self, arrays: Mapping[str, Shaped[np.ndarray, "..."]]) -> None:
        """Replace parameters."""
        parameters = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, array in arrays.items():
                parameters[name].copy_(torch.from_numpy(np.array(array)))

    @property
    def word_embeddings(self) -> Float[Tensor, "vocabulary dim"]:
        """The embedding matrix of the vocabulary."""
        weight: Tensor = self.model.get_input_embeddings().weight  # type: ignore[operator]
        return weight

    @property
    def begin(self) -> int:
        """The number of special tokens before a window in its row of a batch."""
        return len(self.tokenizer.prefix)

    def pad(
        self, windows: Sequence[Int32[np.ndarray, " _tokens"]]
    ) -> tuple[Int[Tensor, "windows padded"], Bool[Tensor, "windows padded"]]:
        """One batch with special tokens and padding, and the mask of real tokens."""
        rows = [(self.tokenizer.prefix, window, self.tokenizer.suffix) for window in windows]
        lengths = np.array([sum(map(len, row)) for row in rows])
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(mask.shape, self.tokenizer.padding, np.int64)
        ids[mask] = np.concatenate(list(chain.from_iterable(rows)))
        return torch.from_numpy(ids), torch.from_numpy(mask)

    def hidden(
        self, ids: Int[Tensor, "windows padded"], mask: Bool[Tensor, "windows padded"]
    ) -> Float[Tensor, "windows padded dim"]:
        """Last hidden states on the backbone's device; keeps the graph if gradients are enabled."""
        with self.precision():
            output = self.model(input_ids=send(ids, self.device), attention_mask=send(mask, self.device))
        states: Tensor = output.last_hidden_state
        return states

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
    ) -> Iterator[list[Float32[np.ndarray, "_tokens dim"]]]:
        """Token vectors of every window of every batch, without special tokens and padding.

        On a GPU one batch is in flight while the vectors of the previous one are yielded, so that copies and the
        caller's work overlap with compute. Raises ``DeviceMemoryExhausted`` if a single window does not fit.
        """
        for parts in ahead((in_halves(self.launch, batch) for batch in batches), self.in_flight):
            yield [vectors for part in parts for vectors in part.vectors()]

    @property
    def in_flight(self) -> int:
        """The number of batches to launch before the vectors of one are read."""
        return int(self.device.type != "cpu")

    @torch.inference_mode()
    def launch(self, batch: Sequence[Int32[np.ndarray, " _tokens"]]) -> Launched:
        """Begin the forward pass of a batch. On a GPU it goes on while the caller does other work."""
        ids, mask = self.pad(batch)
        states = self.hidden(ids, mask).float()
        return Launched([len(window) for window in batch], self.begin, Fetched(states))

    def precision(self) -> AbstractContextManager[object]:
        """bf16 if the hardware multiplies it natively, else float32: emulated bf16 is slower."""
        if has_native_bf16(self.device):
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def batch_tokens(self) -> int:
        """The padded tokens of a forward pass: limited by memory on a GPU, by the cache on a CPU."""
        if self.device.type == "cpu":
            return 4_096
        return int(min(_BATCH_TOKENS, max(2**13, free_memory(self.device) // (self.dim * 256))))


def load_backbone(source: str = DEFAULT, *, device: str = "auto", window: int = 256) -> Backbone:
    """Load ``package:NAME``, ``hub:OWNER/NAME`` or a local folder.

    Raises ``BackboneMissing`` if there is none and ``BackboneMismatch`` if a checksum is wrong.
    """
    folder, expected = locate(source)
    return Backbone(folder, device=device, window=window, expected=expected)


def unpadded(
    states: Float32[np.ndarray, "windows padded *shape"], begin: int, lengths: Sequence[int]
) -> list[Float32[np.ndarray, "_tokens ..."]]:
    """The rows of a batch without special tokens and padding; windows begin at ``begin`` in their rows."""
    return [row[begin : begin + length] for row, length in zip(states, lengths, strict=True)]
