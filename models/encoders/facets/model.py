"""Facets of texts, from trained weights and the word vectors that they were trained with."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float32, Int32, Int64

from models.artifacts import arrays_of, load_artifact
from models.encoders.facets.forward import Parameters, run_facets
from models.encoders.facets.shape import MOST_WORDS, FacetShape
from models.errors import BackboneMismatch
from models.ops.similarity import normalize
from models.word_vectors import WordVectors

if TYPE_CHECKING:
    from models.encoders.facets.network import FacetNetwork

_BATCH = 128


class FacetModel:
    """A network, as its parameters by name, and its word vectors."""

    def __init__(self, parameters: Parameters, shape: FacetShape, words: WordVectors, sha256: str = "") -> None:
        self._parameters = {name: np.asarray(array, np.float32) for name, array in parameters.items()}
        self.shape = shape
        self.words = words
        self.sha256 = sha256

    @classmethod
    def of(cls, network: "FacetNetwork", words: WordVectors) -> "FacetModel":
        """The model of a network in training, as it stands."""
        return cls(arrays_of(network.state_dict()), network.shape, words)

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts facets dim"]:
        """The unit facets of texts.

        A text of more than 50 known words is read in parts of nearly equal length, and its facets are the unit means
        of theirs.
        """
        parts = [_parts(self.words.text_ids(text)) for text in texts]
        flat = [part for of_text in parts for part in of_text]
        facets = np.zeros((len(flat), self.shape.facets, self.shape.dim), np.float32)
        order = np.argsort([len(part) for part in flat], kind="stable")
        for begin in range(0, len(flat), _BATCH):
            rows = order[begin : begin + _BATCH]
            ids, mask = pad([flat[row] for row in rows])
            facets[rows] = run_facets(self._parameters, self.shape, self.words.vectors[ids], mask)
        ends = np.cumsum([len(of_text) for of_text in parts], dtype=np.int64)
        begins = ends - [len(of_text) for of_text in parts]
        facets = normalize(facets)
        return normalize(
            np.stack([facets[begin:end].mean(axis=0) for begin, end in zip(begins, ends, strict=True)])
            if len(texts)
            else facets
        )


def pad(
    rows: Sequence[Int32[np.ndarray, " _words"]],
) -> tuple[Int64[np.ndarray, "texts words"], Bool[np.ndarray, "texts words"]]:
    """Numbers of words as one batch, and the mask of real words.

    >>> pad([np.array([5, 6], np.int32), np.array([7], np.int32)])[0].tolist()
    [[5, 6], [7, 0]]
    """
    lengths = np.array([len(row) for row in rows], np.int64)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.zeros(mask.shape, np.int64)
    ids[mask] = np.concatenate(rows)
    return ids, mask


def load_facets(folder: Path, words: WordVectors) -> FacetModel:
    """Load trained facets. Raises ``BackboneMismatch`` if they were trained with other word vectors."""
    artifact = load_artifact(folder)
    if artifact.config["word_vectors_sha256"] != words.sha256:
        raise BackboneMismatch(
            f"The facets in {folder} were trained with other word vectors.",
            hint="Give the word vectors that are named in config.json of the facets.",
        )
    facts: Any = artifact.config["shape"]
    shape = FacetShape(**{field.name: facts[field.name] for field in fields(FacetShape)})
    return FacetModel(artifact.arrays, shape, words, artifact.sha256)


def _parts(ids: Int32[np.ndarray, " words"]) -> list[Int32[np.ndarray, " _words"]]:
    return np.array_split(ids, max(1, -(-len(ids) // MOST_WORDS)))
