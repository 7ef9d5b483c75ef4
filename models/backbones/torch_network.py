"""The neural network of the encoders, run by torch: for bulk indexing and for training.

``models.backbones.files`` reads its files, ``models.backbones.folders`` locates them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Int32, Shaped
from torch import Tensor

from models.artifacts import arrays_of
from models.backbones.files import BackboneFiles, Shape
from models.backbones.folders import locate, verified_weights
from models.backbones.layers import layers_of
from models.backbones.packages import DEFAULT
from models.backbones.transformers_network import load_network
from models.errors import DeviceUnavailable


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
            output = self.model(input_ids=ids.to(self.device), attention_mask=mask.to(self.device))
        states: Tensor = output.last_hidden_state
        return states

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
    ) -> Iterator[list[Float32[np.ndarray, "_tokens dim"]]]:
        """Token vectors of every window of every batch, without special tokens and padding.

        On a GPU one batch is in flight while the vectors of the previous one are yielded, so that copies and the
        caller's work overlap with compute.
        """
        pending: tuple[list[int], Tensor] | None = None
        for batch in batches:
            launched = [len(window) for window in batch], self._launch(batch)
            if pending:
                yield self._collect(*pending)
            pending = launched
            if self.device.type == "cpu":
                yield self._collect(*pending)
                pending = None
        if pending:
            yield self._collect(*pending)

    @torch.inference_mode()
    def _launch(self, batch: Sequence[Int32[np.ndarray, " _tokens"]]) -> Tensor:
        ids, mask = self.pad(batch)
        if self.device.type == "cpu":
            return self.hidden(ids, mask).float()
        states = self.hidden(_send(ids, self.device), _send(mask, self.device)).float()
        host = torch.empty(states.shape, dtype=states.dtype, pin_memory=True)
        host.copy_(states, non_blocking=True)
        return host

    def _collect(self, lengths: list[int], states: Tensor) -> list[Float32[np.ndarray, "_tokens dim"]]:
        if self.device.type != "cpu":
            torch.cuda.current_stream(self.device).synchronize()
        return self.unpad(states, lengths)

    def unpad(
        self, states: Float[Tensor, "windows padded dim"], lengths: Sequence[int]
    ) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """The rows of a batch without special tokens and padding."""
        vectors: Float32[np.ndarray, "windows padded dim"] = states.numpy()
        return [row[self.begin : self.begin + length] for row, length in zip(vectors, lengths, strict=True)]

    def precision(self) -> AbstractContextManager[object]:
        """bf16 if the hardware multiplies it natively, else float32: emulated bf16 is slower."""
        if has_native_bf16(self.device):
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def batch_tokens(self) -> int:
        """The padded tokens of a forward pass: limited by memory on a GPU, by the cache on a CPU."""
        if self.device.type == "cpu":
            return 4_096
        free, _ = torch.cuda.mem_get_info(self.device)
        return int(min(2**18, max(2**13, free // (self.dim * 256))))


def load_backbone(source: str = DEFAULT, *, device: str = "auto", window: int = 256) -> Backbone:
    """Load ``package:NAME``, ``hub:OWNER/NAME`` or a local folder.

    Raises ``BackboneMissing`` if there is none and ``BackboneMismatch`` if a checksum is wrong.
    """
    folder, expected = locate(source)
    return Backbone(folder, device=device, window=window, expected=expected)


def resolve_device(device: str) -> torch.device:
    """The torch device; ``auto`` is a GPU if there is one. Raises ``DeviceUnavailable``.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise DeviceUnavailable(
            "There is no CUDA device on this machine.",
            hint="Use --device cpu, or --device auto.",
            field="device",
        )
    return torch.device(device)


def has_native_bf16(device: torch.device) -> bool:
    """True if bf16 products run in hardware on this device."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def _send(tensor: Tensor, device: torch.device) -> Tensor:
    return tensor.pin_memory().to(device, non_blocking=True)
