"""BERT without torch: how a query becomes vectors in milliseconds, in a process that loads none of it.

The same network gives the same vectors up to rounding (1e-5). Weights lie as ``models.kernels`` reads them, sums are in
32 bits, and windows that come together are shared out among threads. For texts, factors may be bfloat16 where the
processor multiplies these, as torch has them there (ADR 4); for pairs they may be whole numbers of 8 bits (ADR 57).
"""

from collections.abc import Callable, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Float32, Int, Int32, Shaped

from models.backbones.folders import read_config
from models.interruption import checked
from models.kernels.products import THREADS, reads_halves, tiled, tiled_pairs, tiled_quads, whole_numbers
from models.kernels.transformer import Layers, Projection, run
from models.priority import niceness

Arrays: TypeAlias = Mapping[str, Shaped[np.ndarray, "..."]]
Ids: TypeAlias = Int32[np.ndarray, " special"]
# What factors of products are. Of int8 a matrix has a scale for every column, and a row has a range.
Precision = Literal["float32", "bfloat16", "int8"]
Window = TypeVar("Window", bound=Sized)
Result = TypeVar("Result")

_EMBEDDINGS = "embeddings."
LAYER = "encoder.layer.{}."
_QKV = ("attention.self.query", "attention.self.key", "attention.self.value")
_ATTENTION_OUT, _ATTENTION_NORM = "attention.output.dense", "attention.output.LayerNorm"
_FFN_IN, _FFN_OUT, _FFN_NORM = "intermediate.dense", "output.dense", "output.LayerNorm"
_PART = 2_048  # tokens that one thread takes through the layers at once, in some 20 MB


@dataclass(frozen=True, slots=True)
class BertConfig:
    """The size of a BERT, from its ``config.json``."""

    dim: int
    layers: int
    heads: int
    wide: int
    positions: int
    epsilon: float


def read_bert_config(folder: Path) -> BertConfig | None:
    """The size of a folder's BERT; None where it is another network. Raises ``ValueError`` and ``KeyError``."""
    config = read_config(folder)
    is_supported = (
        config.get("model_type") == "bert"
        and config.get("hidden_act", "gelu") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
    )
    if not is_supported:
        return None
    return BertConfig(
        config["hidden_size"],
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["intermediate_size"],
        config["max_position_embeddings"],
        config.get("layer_norm_eps", 1e-12),
    )


def fits(config: BertConfig, parameters: Arrays) -> bool:
    """True if all parameters are there, in the shapes that the config asks for."""
    return all(name in parameters and parameters[name].shape == shape for name, shape in _shapes(config).items())


def _shapes(config: BertConfig) -> dict[str, tuple[int, ...]]:
    """The shapes of the parameters; those that a vocabulary decides are left out."""
    line: tuple[int, ...] = (config.dim,)
    square = line * 2
    matrices = {_ATTENTION_OUT: square, _FFN_IN: (config.wide, config.dim), _FFN_OUT: (config.dim, config.wide)}
    matrices |= dict.fromkeys(_QKV, square)
    of_layer = {f"{name}.weight": shape for name, shape in matrices.items()}
    of_layer |= {f"{name}.bias": shape[:1] for name, shape in matrices.items()}
    of_layer |= {f"{norm}.{part}": line for norm in (_ATTENTION_NORM, _FFN_NORM) for part in ("weight", "bias")}
    shapes = {f"{_EMBEDDINGS}LayerNorm.{part}": line for part in ("weight", "bias")}
    shapes[f"{_EMBEDDINGS}position_embeddings.weight"] = (config.positions, config.dim)
    return shapes | {
        LAYER.format(number) + name: shape for number in range(config.layers) for name, shape in of_layer.items()
    }


class QueryNetwork:
    """The forward pass of a BERT over windows of different lengths, without padding.

    ``special`` are the tokens that stand before and after a window. ``precision`` is that of factors.

    >>> size = BertConfig(dim=4, layers=1, heads=2, wide=8, positions=16, epsilon=1e-12)
    >>> arrays = {name: np.ones(shape, np.float32) for name, shape in _shapes(size).items()}
    >>> arrays |= {"embeddings.word_embeddings.weight": np.eye(9, 4, dtype=np.float32)}
    >>> arrays |= {"embeddings.token_type_embeddings.weight": np.zeros((2, 4), np.float32)}
    >>> network = QueryNetwork(size, arrays, (np.array([1], np.int32), np.array([2], np.int32)))
    >>> [states.shape for states in network([np.array([3, 5], np.int32), np.array([7], np.int32)])]
    [(2, 4), (1, 4)]
    """

    def __init__(
        self, config: BertConfig, parameters: Arrays, special: tuple[Ids, Ids], precision: Precision = "float32"
    ) -> None:
        self._config = config
        self._prefix, self._suffix = special
        self._words = parameters[f"{_EMBEDDINGS}word_embeddings.weight"]
        kinds, places = (parameters[f"{_EMBEDDINGS}{name}_embeddings.weight"] for name in ("token_type", "position"))
        # Nobody asks for another kind of token than the first.
        self._places = _floats(places) + _floats(kinds[0])
        self._norm = _pair(parameters, f"{_EMBEDDINGS}LayerNorm")
        names = [LAYER.format(number) for number in range(config.layers)]
        self.layers = packed_layers(parameters, names, precision)

    def __call__(self, windows: Sequence[Int32[np.ndarray, " _tokens"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """Last hidden states of every window's own tokens."""
        return in_parts(windows, self._read)

    def _read(self, windows: Sequence[Int32[np.ndarray, " _tokens"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        states = self.embed(windows)
        self.take_through(states, self.layers)
        return [states.hidden[own] for own in self.own(states)]

    def embed(
        self, windows: Sequence[Int32[np.ndarray, " _tokens"]], added: Float32[np.ndarray, "tokens dim"] | None = None
    ) -> "States":
        """The input of the first layer: the windows' tokens, each window between the special ones.

        ``added`` is added to the embeddings of all tokens.
        """
        rows = [np.concatenate([self._prefix, window, self._suffix]) for window in windows]
        places = np.concatenate([np.arange(len(row)) for row in rows])
        hidden = _floats(self._words[np.concatenate(rows)]) + self._places[places]
        if added is not None:
            hidden += added
        hidden -= hidden.mean(axis=1, keepdims=True)
        hidden /= np.sqrt(np.square(hidden).mean(axis=1, keepdims=True) + np.float32(self._config.epsilon))
        bounds = np.array([0, *accumulate(map(len, rows))])
        return States(hidden * self._norm[0] + self._norm[1], bounds)

    def take_through(self, states: "States", layers: Layers) -> None:
        """Take hidden states through layers, in place."""
        run(states.hidden, states.bounds, self._config.heads, np.float32(self._config.epsilon), layers)

    def own(self, states: "States") -> list[slice]:
        """The rows of every window's own tokens."""
        before, behind = len(self._prefix), len(self._suffix)
        return [slice(start + before, end - behind) for start, end in pairwise(states.bounds.tolist())]


@dataclass(frozen=True, slots=True)
class States:
    """Hidden states of windows that lie end to end, and where each begins and ends."""

    hidden: Float32[np.ndarray, "tokens dim"]
    bounds: Int[np.ndarray, " bounds"]


def packed_layers(parameters: Arrays, names: Sequence[str], precision: Precision = "float32") -> Layers:
    """The layers whose parameters begin with these names, as kernels read them.

    Matrices of float32 are kept in 16 bits where nothing is lost, as of trained layers nothing is.
    """
    halves = reads_halves() and all(
        _is_half(parameters[f"{layer}{name}.weight"])
        for layer in names
        for name in (*_QKV, _ATTENTION_OUT, _FFN_IN, _FFN_OUT)
    )

    def projection(*joined: str) -> Projection:
        of_layers = (np.concatenate([parameters[f"{layer}{name}.weight"] for name in joined]) for layer in names)
        biases = [np.concatenate([_floats(parameters[f"{layer}{name}.bias"]) for name in joined]) for layer in names]
        if precision == "int8":
            made = [(tiled_quads(numbers), scales) for numbers, scales in map(whole_numbers, of_layers)]
            tiles, scales = (np.stack(each) for each in zip(*made, strict=True))
            return Projection(tiles, np.stack(biases), scales)
        lay_out = tiled_pairs if precision == "bfloat16" else partial(packed, halves=halves)
        return Projection(np.stack([lay_out(each) for each in of_layers]), np.stack(biases))

    def norms(name: str) -> Float32[np.ndarray, "layers 2 dim"]:
        return np.stack([_pair(parameters, layer + name) for layer in names])

    return Layers(
        projection(*_QKV),
        projection(_ATTENTION_OUT),
        norms(_ATTENTION_NORM),
        projection(_FFN_IN),
        projection(_FFN_OUT),
        norms(_FFN_NORM),
    )


def packed(matrix: Shaped[np.ndarray, "outputs inputs"], *, halves: bool) -> Shaped[np.ndarray, "tiles inputs columns"]:
    """A matrix as kernels read it: tiles of 32 bits, or the bits of halves."""
    tiles = tiled(matrix, halves=halves)
    return tiles.view(np.uint16) if halves else tiles


def in_parts(windows: Sequence[Window], work: Callable[[Sequence[Window]], Sequence[Result]]) -> list[Result]:
    """The results of all windows, of which every thread takes about as many tokens, at the priority of the caller.

    >>> in_parts([[1, 2], [3]], lambda part: [sum(window) for window in part])
    [3, 3]
    """
    parts = _parts(windows)
    done = map(work, parts) if len(parts) == 1 else _threads(niceness()).map(work, parts)
    return [result for part in checked(done) for result in part]


def _parts(windows: Sequence[Window]) -> list[Sequence[Window]]:
    """Runs of the windows: one for every thread, or more where these would be long."""
    share = min(_PART, -(-sum(map(len, windows)) // THREADS))
    parts: list[list[Window]] = []
    room = 0
    for window in windows:
        if not parts or room < len(window):
            parts.append([])
            room = share
        parts[-1].append(window)
        room -= len(window)
    return list(parts)


@cache
def _threads(niceness: int) -> ThreadPoolExecutor:
    """The threads of callers of one priority, which these inherit."""
    return ThreadPoolExecutor(THREADS, "query-network")


def _is_half(array: Shaped[np.ndarray, "..."]) -> bool:
    return array.dtype == np.float16 or bool((array.astype(np.float16) == array).all())


def _floats(array: Shaped[np.ndarray, "..."]) -> Float32[np.ndarray, "..."]:
    return np.asarray(array, np.float32)


def _pair(parameters: Arrays, norm: str) -> Float32[np.ndarray, "2 dim"]:
    return np.stack([_floats(parameters[f"{norm}.{part}"]) for part in ("weight", "bias")])
