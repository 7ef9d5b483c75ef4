"""A backbone without its torch network: its tokenizer, its fingerprint, its parameters as arrays.

Queries need only this (``models.backbones.query_network``). ``models.backbones.torch_network`` adds the network that
torch runs.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int32, Shaped

from models.backbones.folders import read_config
from models.backbones.query_network import LAYER, BertConfig, Precision, QueryNetwork, fits, read_bert_config
from models.backbones.tokenizer import TextTokenizer, open_tokenizer
from models.tensors import read_tensors
from models.text import units
from models.text.tokens import Tokens

# Entries of a config.json that do not affect the vectors.
_NOT_ARCHITECTURE = {"_name_or_path", "transformers_version", "torch_dtype", "dtype", "use_cache"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The length of a vector, and the tokens of one forward pass, special ones included."""

    dim: int
    window: int


class BackboneFiles:
    """A folder with a config, a tokenizer and weights, all read and checked to fit together.

    ``dim`` is the length of a vector, ``window`` the number of tokens of one forward pass without the special ones;
    ``weights_sha256`` identifies the weights, and ``fingerprint`` everything that affects the vectors.
    """

    in_memory = False  # true if a network in memory has the parameters, which may differ from the files

    def __init__(self, folder: Path, weights_sha256: str, tokenizer: TextTokenizer, shape: Shape, device: str) -> None:
        self.folder, self.weights_sha256, self.tokenizer = folder, weights_sha256, tokenizer
        self.dim, self.shape, self.device_name = shape.dim, shape, device
        self.window = shape.window - len(tokenizer.prefix) - len(tokenizer.suffix)
        self._networks: dict[Precision, QueryNetwork] = {}
        self.fingerprint = _digest(
            [_architecture(folder), weights_sha256, tokenizer.description(), units.VERSION, self.window]
        )

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of every text, without special tokens and without truncation."""
        return self.tokenizer.tokenize(texts)

    def ids_of(self, tokens: Sequence[str]) -> Int32[np.ndarray, " known"]:
        """The ids of the tokens that are in the vocabulary."""
        return self.tokenizer.ids_of(tokens)

    def token(self, number: int) -> str:
        """The token of an id."""
        return self.tokenizer.token(number)

    @property
    def unknown(self) -> int:
        """The id of the unknown token; -1 if there is none."""
        return -1 if self.tokenizer.unknown is None else self.tokenizer.unknown

    @cached_property
    def bert(self) -> BertConfig | None:
        """The size of the network; None if it is not a BERT that ``models.backbones.query_network`` can run."""
        return read_bert_config(self.folder)

    @property
    def hidden_dim(self) -> int:
        """The length of a hidden state, equal to a vector's."""
        return self.dim

    @property
    def depth(self) -> int:
        """The number of layers."""
        return self.bert.layers if self.bert else 0

    def parameters(self) -> dict[str, Shaped[np.ndarray, "..."]]:
        """The parameters by name."""
        return dict(self.stored)

    @cached_property
    def stored(self) -> dict[str, Shaped[np.ndarray, "..."]]:
        """The parameters of a BERT as its file has them, whatever a network in memory has been given since."""
        return bert_tensors(self.folder)

    def layer_parameters(self, number: int) -> dict[str, Shaped[np.ndarray, "..."]]:
        """The parameters of one layer, by their names within it."""
        return of_layer(self.parameters(), number)

    def network(self, precision: Precision = "float32") -> QueryNetwork | None:
        """The network without torch, made once for all encoders of these files; None if it is not a BERT."""
        if self.bert is not None and precision not in self._networks:
            self._networks[precision] = self.network_of(self.bert, self.parameters(), precision)
        return self._networks.get(precision)

    def network_of(
        self, size: BertConfig, parameters: Mapping[str, Shaped[np.ndarray, "..."]], precision: Precision = "float32"
    ) -> QueryNetwork:
        """The same network with other parameters."""
        return QueryNetwork(size, parameters, (self.tokenizer.prefix, self.tokenizer.suffix), precision)


def open_files(folder: Path, weights_sha256: str, *, device: str = "auto", window: int = 256) -> BackboneFiles | None:
    """The files of a BERT that can be read without transformers; None for other or incomplete ones."""
    try:
        config = read_bert_config(folder)
        if config is None or not fits(config, bert_tensors(folder)):
            return None
    except (OSError, ValueError, KeyError):
        return None
    tokenizer = open_tokenizer(folder)
    if tokenizer is None:
        return None
    return BackboneFiles(folder, weights_sha256, tokenizer, Shape(config.dim, min(window, config.positions)), device)


def bert_tensors(folder: Path) -> dict[str, Shaped[np.ndarray, "..."]]:
    """The weights of a folder, by their names in a BERT without a head."""
    return {name.removeprefix("bert."): array for name, array in read_tensors(folder / "model.safetensors").items()}


def of_layer(parameters: Mapping[str, Shaped[np.ndarray, "..."]], number: int) -> dict[str, Shaped[np.ndarray, "..."]]:
    """The parameters of one layer, by their names within it.

    >>> of_layer({"encoder.layer.1.output.dense.bias": np.zeros(2), "encoder.layer.10.x": np.zeros(1)}, 1)
    {'output.dense.bias': array([0., 0.])}
    """
    prefix = LAYER.format(number)
    return {name.removeprefix(prefix): array for name, array in parameters.items() if name.startswith(prefix)}


def _architecture(folder: Path) -> dict[str, Any]:
    """The entries of the folder's config.json that affect the vectors."""
    return {key: value for key, value in read_config(folder).items() if key not in _NOT_ARCHITECTURE}


def _digest(facts: list[object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]
