"""The neural network under the encoders: texts to tokens, and batches of tokens to vectors.

``models.networks`` says what may be one and how it is named.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Int32
from torch import Tensor

from models import units
from models.errors import DeviceUnavailable
from models.networks import load_network, locate, read_config, verified_weights
from models.packages import DEFAULT
from models.tokens import Tokens, concatenate

# What a config.json may say beside what decides the vectors.
_NOT_ARCHITECTURE = {"_name_or_path", "transformers_version", "torch_dtype", "dtype", "use_cache"}

# Code points after which a long text is cut, at white space if there is any, before it is tokenized.
_PIECE = 65_536


class Backbone:
    """Token ids to contextual token vectors, batch by batch.

    ``dim`` is the length of a vector, ``window`` how many tokens one forward pass takes beside the special ones,
    ``weights_sha256`` identifies the weights and ``fingerprint`` everything that decides what a vector is.
    """

    def __init__(self, folder: Path, *, device: str = "auto", window: int = 256, expected: str | None = None) -> None:
        self.weights_sha256 = verified_weights(folder, expected)
        self.device = resolve_device(device)
        network = load_network(folder)
        self.model = network.model.to(self.device).eval().requires_grad_(False)
        self.dim = network.dim
        self._tokenizer, self._unknown, self._padding = network.tokenizer, network.unknown, network.padding
        self._prefix, self._suffix = _special_tokens(self._tokenizer)
        special = len(self._prefix) + len(self._suffix)
        self.window = min(window, network.positions or window) - special
        self.fingerprint = _digest(
            [_architecture(folder), self.weights_sha256, self._tokenizer.to_str(), units.VERSION, self.window]
        )

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of every text, without special tokens and without truncation."""
        short = all(len(text) <= _PIECE for text in texts)
        return self._tokenize(texts) if short else [self._tokenize_long(text) for text in texts]

    def _tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [self._tokens(encoding.ids, encoding.offsets) for encoding in encodings]

    def _tokens(self, ids: list[int], offsets: list[tuple[int, int]]) -> Tokens:
        codes = np.array(ids, np.int32)
        return Tokens(codes, np.array(offsets, np.int64).reshape(-1, 2), codes == self._unknown)

    def _tokenize_long(self, text: str) -> Tokens:
        """As for a short text, piece by piece: the tokenizer's own records take 100 times the room of ours."""
        pieces = ((start, self._tokenize([text[start:end]])[0]) for start, end in _pieces(text))
        return concatenate([replace(piece, spans=piece.spans + start) for start, piece in pieces])

    @property
    def word_embeddings(self) -> Float[Tensor, "vocabulary dim"]:
        """The vectors that token ids begin as."""
        weight: Tensor = self.model.get_input_embeddings().weight  # type: ignore[operator]
        return weight

    def ids_of(self, tokens: Sequence[str]) -> Int32[np.ndarray, " found"]:
        """The ids of those of these tokens that the vocabulary has."""
        ids = (self._tokenizer.token_to_id(token) for token in tokens)
        return np.array([found for found in ids if found is not None], np.int32)

    def token(self, number: int) -> str:
        """The token of an id."""
        return str(self._tokenizer.id_to_token(number))

    @property
    def unknown(self) -> int:
        """The id of the token that stands for a word which the vocabulary does not have; -1 where there is none."""
        return -1 if self._unknown is None else int(self._unknown)

    @property
    def begin(self) -> int:
        """How many special tokens stand before a window in its row of a batch."""
        return len(self._prefix)

    def pad(
        self, windows: Sequence[Int32[np.ndarray, " _tokens"]]
    ) -> tuple[Int[Tensor, "windows padded"], Bool[Tensor, "windows padded"]]:
        """One batch with its special tokens and padding, and the mask of what is not padding."""
        rows = [(self._prefix, window, self._suffix) for window in windows]
        lengths = np.array([sum(map(len, row)) for row in rows])
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(mask.shape, self._padding, np.int64)
        ids[mask] = np.concatenate(list(chain.from_iterable(rows)))
        return torch.from_numpy(ids), torch.from_numpy(mask)

    def pad_pairs(
        self, pairs: Sequence[tuple[Int32[np.ndarray, " _tokens"], Int32[np.ndarray, " _others"]]]
    ) -> tuple[Int[Tensor, "pairs padded"], Bool[Tensor, "pairs padded"], Int[Tensor, "pairs padded"] | None]:
        """One batch of pairs of windows, each pair in one row with a special token between its two.

        The third result says of every token to which window of its pair it belongs, if the network asks for that.
        """
        joined = [np.concatenate([window, self._suffix, other]) for window, other in pairs]
        ids, mask = self.pad(joined)
        if getattr(self.model.config, "type_vocab_size", 0) < 2:
            return ids, mask, None
        begins = torch.tensor([len(self._prefix) + len(window) + len(self._suffix) for window, _ in pairs])
        of_other = (torch.arange(ids.shape[1]) >= begins[:, None]) & mask
        return ids, mask, of_other.long()

    def hidden(
        self,
        ids: Int[Tensor, "windows padded"],
        mask: Bool[Tensor, "windows padded"],
        kinds: Int[Tensor, "windows padded"] | None = None,
    ) -> Float[Tensor, "windows padded dim"]:
        """Last hidden states on the backbone's device; keeps the graph where gradients are on.

        ``kinds`` are those of :meth:`pad_pairs`.
        """
        of_kinds = {} if kinds is None else {"token_type_ids": kinds.to(self.device)}
        with self.precision():
            output = self.model(input_ids=ids.to(self.device), attention_mask=mask.to(self.device), **of_kinds)
        states: Tensor = output.last_hidden_state
        return states

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
    ) -> Iterator[list[Float32[np.ndarray, "_tokens dim"]]]:
        """Token vectors of every window of every batch, special tokens and padding left out.

        On a GPU one batch is in flight while the vectors of the one before are handed out, so that copies and the
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
        """What stands in the rows of a batch for the windows' own tokens."""
        vectors: Float32[np.ndarray, "windows padded dim"] = states.numpy()
        return [row[self.begin : self.begin + length] for row, length in zip(vectors, lengths, strict=True)]

    def precision(self) -> AbstractContextManager[object]:
        """bf16 where the hardware multiplies it natively; float32 elsewhere, where emulating bf16 would be slower."""
        if has_native_bf16(self.device):
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def batch_tokens(self) -> int:
        """How many padded tokens a forward pass should hold: sized by memory on a GPU, by the cache on a CPU."""
        if self.device.type == "cpu":
            return 4_096
        free, _ = torch.cuda.mem_get_info(self.device)
        return int(min(2**18, max(2**13, free // (self.dim * 256))))


def load_backbone(source: str = DEFAULT, *, device: str = "auto", window: int = 256) -> Backbone:
    """Load ``package:NAME``, ``hub:OWNER/NAME`` or a local folder.

    Raises ``BackboneMissing`` where there is none and ``BackboneMismatch`` where a checksum is wrong.
    """
    folder, expected = locate(source)
    return Backbone(folder, device=device, window=window, expected=expected)


def resolve_device(device: str) -> torch.device:
    """``auto`` takes a GPU where there is one; a device that is not there is refused.

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
    """Whether bf16 products run in hardware on this device."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = min(start + _PIECE, len(text))
        if end < len(text):
            space = max(text.rfind(sign, start, end) for sign in " \n\t")
            end = space + 1 if space > start else end
        yield start, end
        start = end


def _architecture(folder: Path) -> object:
    """What the folder's config.json says, less what says nothing of the vectors."""
    return {key: value for key, value in read_config(folder).items() if key not in _NOT_ARCHITECTURE}


def _special_tokens(tokenizer: Any) -> tuple[Int32[np.ndarray, " prefix"], Int32[np.ndarray, " suffix"]]:  # noqa: ANN401
    """The special tokens that stand before and after a text."""
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    full = tokenizer.encode("a").ids
    begin = full.index(bare[0])
    return np.array(full[:begin], np.int32), np.array(full[begin + len(bare) :], np.int32)


def _send(tensor: Tensor, device: torch.device) -> Tensor:
    return tensor.pin_memory().to(device, non_blocking=True)


def _digest(facts: list[object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]
