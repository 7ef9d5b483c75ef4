"""The network of facets on arrays: the same numbers as the network that training runs, without torch.

Indexing and queries run this one, so that neither loads torch for facets. Layers normalise their inputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from jaxtyping import Bool, Float32, Shaped

Parameters: TypeAlias = Mapping[str, Shaped[np.ndarray, "..."]]
States: TypeAlias = Float32[np.ndarray, "texts _rows dim"]

_EPSILON: Final = np.float32(1e-5)
# The words of a text that are read at once.
MOST_WORDS = 50

# Who reads a text: a small transformer over word vectors, or a frozen encoder of Spanseek.
FacetEncoder: TypeAlias = Literal["small", "backbone"]


@dataclass(frozen=True, slots=True)
class FacetShape:
    """The size of the network.

    ``attention`` lets the decoder read the words: for sentences, not for phrases. ``read_dim`` is the length of the
    vectors of a frozen encoder, which a linear map brings into the space of words.
    """

    facets: int = 10
    dim: int = 200
    encoder_layers: int = 1
    decoder_layers: int = 2
    heads: int = 4
    hidden: int = 512
    attention: bool = True
    encoder: FacetEncoder = "small"
    read_dim: int = 0


def run_facets(
    parameters: Parameters,
    shape: FacetShape,
    vectors: Float32[np.ndarray, "texts words _read"],
    mask: Bool[np.ndarray, "texts words"],
) -> Float32[np.ndarray, "texts facets dim"]:
    """The codebook vectors of texts, whose real words ``mask`` names; a text may have none."""
    memory, real = run_encoder(parameters, shape, vectors, mask)
    facets = np.stack([_linear(parameters, f"starts.{each}", memory[:, 0]) for each in range(shape.facets)], axis=1)
    for number in range(shape.decoder_layers):
        name = f"decoder.{number}"
        if shape.attention:
            facets = _decoder_layer(parameters, name, shape.heads, facets, memory, real)
        else:
            facets = _encoder_layer(parameters, name, shape.heads, facets, None)
    return _linear(parameters, "out", _norm(parameters, "norm", facets))


def run_encoder(
    parameters: Parameters,
    shape: FacetShape,
    vectors: Float32[np.ndarray, "texts words _read"],
    mask: Bool[np.ndarray, "texts words"],
) -> tuple[States, Bool[np.ndarray, "texts _rows"]]:
    """The states of the end mark and of the words of texts, and which of them are real."""
    words, ends = _inputs(parameters, shape, vectors, mask)
    memory = np.concatenate([ends, words], axis=1)
    real = np.concatenate([np.ones((len(mask), 1), bool), mask], axis=1)
    for number in range(shape.encoder_layers):
        memory = _encoder_layer(parameters, f"encoder.layers.{number}", shape.heads, memory, real)
    return memory, real


def _inputs(
    parameters: Parameters,
    shape: FacetShape,
    vectors: Float32[np.ndarray, "texts words _read"],
    mask: Bool[np.ndarray, "texts words"],
) -> tuple[Float32[np.ndarray, "texts words dim"], Float32[np.ndarray, "texts 1 dim"]]:
    ends = np.broadcast_to(parameters["end"], (len(vectors), 1, shape.dim))
    if shape.encoder == "small":
        return vectors * np.float32(shape.dim**0.5) + parameters["positions"][: vectors.shape[1]], ends
    words = _linear(parameters, "read", _norm(parameters, "read_norm", vectors))
    counts = mask.sum(axis=1).clip(1).astype(np.float32)[:, None, None]
    return words, ends + (words * mask[..., None]).sum(axis=1, keepdims=True) / counts


def _encoder_layer(
    parameters: Parameters, name: str, heads: int, states: States, real: Bool[np.ndarray, "texts _rows"] | None
) -> States:
    normed = _norm(parameters, f"{name}.norm1", states)
    states = states + _attend(parameters, f"{name}.self_attn", heads, normed, normed, real)
    return states + _feed_forward(parameters, name, _norm(parameters, f"{name}.norm2", states))


def _decoder_layer(
    parameters: Parameters,
    name: str,
    heads: int,
    facets: States,
    memory: Float32[np.ndarray, "texts _keys dim"],
    real: Bool[np.ndarray, "texts _keys"],
) -> States:
    normed = _norm(parameters, f"{name}.norm1", facets)
    facets = facets + _attend(parameters, f"{name}.self_attn", heads, normed, normed, None)
    normed = _norm(parameters, f"{name}.norm2", facets)
    facets = facets + _attend(parameters, f"{name}.multihead_attn", heads, normed, memory, real)
    return facets + _feed_forward(parameters, name, _norm(parameters, f"{name}.norm3", facets))


def _attend(
    parameters: Parameters,
    name: str,
    heads: int,
    queries: States,
    memory: Float32[np.ndarray, "texts _keys dim"],
    real: Bool[np.ndarray, "texts _keys"] | None,
) -> States:
    """Attention of several heads; ``real`` names the rows of the memory that are no padding."""
    weights = np.split(parameters[f"{name}.in_proj_weight"], 3)
    biases = np.split(parameters[f"{name}.in_proj_bias"], 3)
    sources = queries, memory, memory
    asked, keys, values = (
        _heads(source @ weight.T + bias, heads) for source, weight, bias in zip(sources, weights, biases, strict=True)
    )
    scores = asked @ keys.swapaxes(-1, -2) / np.float32(asked.shape[-1] ** 0.5)
    if real is not None:
        scores = np.where(real[:, None, None, :], scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    joined = (shares @ values).swapaxes(1, 2).reshape(queries.shape)
    return _linear(parameters, f"{name}.out_proj", joined)


def _heads(rows: States, heads: int) -> Float32[np.ndarray, "texts heads _rows _part"]:
    return rows.reshape(*rows.shape[:2], heads, -1).swapaxes(1, 2)


def _feed_forward(parameters: Parameters, name: str, states: States) -> States:
    return _linear(parameters, f"{name}.linear2", _gelu(_linear(parameters, f"{name}.linear1", states)))


def _linear(
    parameters: Parameters, name: str, rows: Float32[np.ndarray, "*rows _in"]
) -> Float32[np.ndarray, "*rows _out"]:
    return rows @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]


def _norm(parameters: Parameters, name: str, rows: States) -> States:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    scale = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + _EPSILON)
    return centred / scale * parameters[f"{name}.weight"] + parameters[f"{name}.bias"]


def _gelu(values: Float32[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape"]:
    return np.float32(0.5) * values * (1 + _erf(values * np.float32(0.5**0.5)))


def _erf(values: Float32[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape"]:
    """The error function to 1.5e-7 (Abramowitz and Stegun, 7.1.26).

    >>> [round(value, 5) for value in _erf(np.array([-1, 0, 0.5], np.float32)).tolist()]
    [-0.8427, 0.0, 0.5205]
    """
    size = np.abs(values)
    inverse = 1 / (1 + np.float32(0.3275911) * size)
    terms = np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        terms = terms * inverse + np.float32(factor)
    return np.sign(values) * (1 - terms * inverse * np.exp(-size * size))
