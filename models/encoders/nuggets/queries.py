"""The nuggets of queries without torch: ``network`` on the arrays of ``models.backbones.query_network``."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxtyping import Float32, Int, Int32

from models.artifacts import Artifact
from models.backbones.query_network import Arrays, QueryNetwork, States, in_parts, packed, packed_layers
from models.encoders.nuggets.base import Nuggets
from models.encoders.nuggets.parts import feedback_of, gather_of
from models.encoders.nuggets.selectors import Selector, Selectors
from models.kernels.transformer import dense
from models.ops.nuggets import segment_starts
from models.ops.similarity import normalize


class QueryNuggets:
    """Maps windows to nuggets: bottom layers of ``below``; scorer, upper layers and projection of an artifact."""

    def __init__(self, below: QueryNetwork, layer: int, artifact: Artifact, selectors: Selectors) -> None:
        self._below, self._selectors = below, selectors
        self._bottom = below.layers.lowest(layer)
        upper = len(below.layers.ffn_norm) - layer
        self._upper = packed_layers(artifact.arrays, [f"layers.{number}." for number in range(upper)])
        self._scorer = [Dense(artifact.arrays, f"scorer.{number}") for number in (0, 2)]
        self._value = np.array(artifact.arrays["value.weight"], np.float32)
        self._types = np.array(artifact.arrays["types"], np.float32) if feedback_of(artifact) else None
        self._by_segment = gather_of(artifact) == "segment"

    def __call__(self, windows: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> list[Nuggets]:
        """The nuggets of every window."""
        return in_parts(windows, partial(self._read, ratio=ratio))

    def _read(self, windows: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> list[Nuggets]:
        states = self._below.embed(windows)
        self._below.take_through(states, self._bottom)
        own, scores = self._below.own(states), self._scores(states)
        select = self._selectors.of(windows, ratio)
        chosen = [self._choose(select, number, scores[rows]) for number, rows in enumerate(own)]
        self._mark(states, [rows.start + places for rows, places in zip(own, chosen, strict=True)])
        self._below.take_through(states, self._upper)
        return [
            self._nuggets(states.hidden[rows], scores[rows], places) for rows, places in zip(own, chosen, strict=True)
        ]

    def _scores(self, states: States) -> Float32[np.ndarray, " tokens"]:
        first, second = self._scorer
        return second(first(states.hidden, activated=True))[:, 0]

    def _choose(
        self, select: Selector, number: int, scores: Float32[np.ndarray, " tokens"]
    ) -> Int[np.ndarray, " nuggets"]:
        """The positions of a window's nuggets; with segments the last one moves to the end, to cover every token."""
        chosen = select(number, scores)
        return np.append(chosen[:-1], len(scores) - 1)[: len(chosen)] if self._by_segment else chosen

    def _mark(self, states: States, nuggets: Sequence[Int[np.ndarray, " _nuggets"]]) -> None:
        """Add type embeddings, which mark nuggets for the upper layers."""
        if self._types is not None:
            kinds = np.zeros(len(states.hidden), np.int64)
            kinds[np.concatenate(nuggets)] = 1
            states.hidden[:] += self._types[kinds]

    def _nuggets(
        self,
        hidden: Float32[np.ndarray, "tokens dim"],
        scores: Float32[np.ndarray, " tokens"],
        places: Int[np.ndarray, " nuggets"],
    ) -> Nuggets:
        gathered = hidden[places]
        if self._by_segment:
            starts = segment_starts(places)
            gathered = np.add.reduceat(hidden, starts) / (places + 1 - starts)[:, None].astype(np.float32)
        vectors = normalize(gathered @ self._value.T).astype(np.float32)
        return Nuggets(vectors, places, scores[places])


class Dense:
    """A matrix and its bias, packed for the kernels.

    >>> one = {"a.weight": np.array([[1.0, 2.0]], np.float32), "a.bias": np.array([0.5], np.float32)}
    >>> Dense(one, "a")(np.array([[3.0, 4.0]], np.float32)).tolist()
    [[11.5]]
    """

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._tiles = packed(arrays[f"{name}.weight"], halves=False)
        self._bias = np.array(arrays[f"{name}.bias"], np.float32)

    def __call__(
        self, left: Float32[np.ndarray, "rows inputs"], *, activated: bool = False
    ) -> Float32[np.ndarray, "rows outputs"]:
        """The product of every row, with GELU if ``activated``."""
        out = np.empty((len(left), len(self._bias)), np.float32)
        dense(left, self._tiles, self._bias, activated, out)
        return out
