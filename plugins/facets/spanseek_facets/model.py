"""Facets of texts, from trained weights and the word vectors that they were trained with."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float32

from models.artifacts import Artifact, load_artifact
from models.encoders.base import Encoder
from models.encoders.registry import load_encoder
from models.errors import BackboneMismatch
from models.interruption import checked
from models.ops.batching import even_windows, length_batches
from models.ops.similarity import normalize
from spanseek_facets.forward import FacetShape, Parameters, run_facets
from spanseek_facets.readers import EncoderReader, Reader, WordReader
from spanseek_facets.word_vectors import WordVectors

# Tokens of a batch, padding included: less than a second.
_BATCH_TOKENS: Final = 4096


class FacetModel:
    """A network, as its parameters by name, its word vectors, and what it reads, by default these."""

    def __init__(
        self,
        parameters: Parameters,
        shape: FacetShape,
        words: WordVectors,
        sha256: str = "",
        reader: Reader | None = None,
    ) -> None:
        self.parameters = {name: np.asarray(array, np.float32) for name, array in parameters.items()}
        self.shape = shape
        self.words = words
        self.reader = reader or WordReader(words)
        self.sha256 = sha256

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts facets dim"]:
        """The unit facets of texts.

        A text of more than 50 known words, or of more tokens than a window, is read in parts of nearly equal length,
        and its facets are the unit means of theirs.
        """
        parts = [even_windows(ids, self.reader.longest) for ids in self.reader.ids(texts)]
        flat = [part for of_text in parts for part in of_text]
        facets = np.zeros((len(flat), self.shape.facets, self.shape.dim), np.float32)
        for rows in checked(length_batches([len(part) for part in flat], _BATCH_TOKENS)):
            facets[rows] = run_facets(self.parameters, self.shape, *self.reader.vectors([flat[row] for row in rows]))
        ends = np.cumsum([len(of_text) for of_text in parts], dtype=np.int64)
        begins = ends - [len(of_text) for of_text in parts]
        facets = normalize(facets)
        return normalize(
            np.stack([facets[begin:end].mean(axis=0) for begin, end in zip(begins, ends, strict=True)])
            if len(texts)
            else facets
        )


def load_facets(folder: Path, words: WordVectors, load: Callable[[str], Encoder] | None = None) -> FacetModel:
    """Load trained facets. ``load`` gives encoders by their names, for facets that read by one.

    Raises ``BackboneMismatch`` if they were trained with other word vectors, or read by another encoder.
    """
    artifact = load_artifact(folder)
    if artifact.config["word_vectors_sha256"] != words.sha256:
        raise BackboneMismatch(
            f"The facets in {folder} were trained with other word vectors.",
            hint="Give the word vectors that are named in config.json of the facets.",
        )
    facts: Any = artifact.config["shape"]
    shape = FacetShape(**{field.name: facts[field.name] for field in fields(FacetShape) if field.name in facts})
    reader = None if shape.encoder == "small" else _encoder_reader(folder, artifact, load or load_encoder)
    return FacetModel(artifact.arrays, shape, words, artifact.sha256, reader)


def _encoder_reader(folder: Path, artifact: Artifact, load: Callable[[str], Encoder]) -> EncoderReader:
    facts: Any = artifact.config["encoder"]
    reader = EncoderReader(load(facts["name"]))
    if reader.fingerprint != facts["fingerprint"]:
        raise BackboneMismatch(
            f"The facets in {folder} read by {facts['fingerprint']}; the encoder {facts['name']} is "
            f"{reader.fingerprint}.",
            hint="Set SPANSEEK_BACKBONE to the model that they were trained with, or train facets over this one.",
        )
    return reader
