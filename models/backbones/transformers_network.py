"""The network and the tokenizer of a backbone, loaded by transformers; only this module imports it.

A backbone is any BERT-like encoder whose weights lie in one safetensors file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from models.backbones.tokenizer import TextTokenizer
from models.errors import BackboneMissing

_VOCABULARIES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
)
_WHOLE = "The folder must hold config.json, tokenizer.json (or a vocabulary) and model.safetensors, all complete."

# Loading takes a second; the progress bar of transformers would clutter the output of every command.
disable_progress_bar()


@dataclass(frozen=True, slots=True)
class Network:
    """A network and its tokenizer; ``positions`` is the maximum number of tokens, if there is one."""

    model: torch.nn.Module
    tokenizer: TextTokenizer
    dim: int
    positions: int | None


def load_network(folder: Path) -> Network:
    """The network and the tokenizer of a folder. Raises ``BackboneMissing`` if they are incomplete."""
    if not any((folder / name).is_file() for name in _VOCABULARIES):
        # transformers would create an empty tokenizer, to which every word is unknown.
        raise BackboneMissing(f"There is no tokenizer in {folder}.", hint=_WHOLE)
    try:
        return _load(folder)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BackboneMissing(f"The model in {folder} cannot be loaded: {error}", hint=_WHOLE) from error


def _load(folder: Path) -> Network:
    common: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    config = AutoConfig.from_pretrained(folder, **common)
    model = AutoModel.from_pretrained(folder, config=config, dtype=torch.float32, use_safetensors=True, **common)
    tokenizer = AutoTokenizer.from_pretrained(folder, **common)
    return Network(
        # Of an encoder-decoder, take the encoder.
        model=model.get_encoder() if config.is_encoder_decoder else model,
        tokenizer=TextTokenizer(tokenizer.backend_tokenizer, tokenizer.unk_token_id, tokenizer.pad_token_id or 0),
        dim=config.hidden_size,
        positions=getattr(config, "max_position_embeddings", None),
    )
