"""Restorable embeddings of texts, from trained weights: the restorer of the product."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float32

from models.artifacts import Artifact, load_artifact
from models.encoders.base import Encoder, forward_texts
from models.encoders.registry import load_encoder
from models.encoders.restorable.base import Memory, Restoration, RestoredToken
from models.encoders.restorable.generation import GenerationLimits, Generator, generate
from models.encoders.restorable.network import RestorableNetwork
from models.encoders.restorable.reading import Reader, group, pad, stretch_reader
from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import END, Ids, Vocabulary
from models.errors import BackboneMismatch, InvalidInput
from models.ops.batching import even_windows, length_batches
from models.ops.similarity import normalize

# A shape and the name of a backbone, empty for none, to an untrained network and its reader.
Assemble: TypeAlias = Callable[[RestorableShape, str], tuple[RestorableNetwork, Reader]]

_BATCH_TOKENS = 4096
_BATCH = 64


class RestorableModel:
    """A network and its vocabulary, beside a frozen encoder whose sentence vectors searches compare.

    A vector is the unit sentence vector of the whole text, scaled to a variance of 1, and after it the restorable
    vector of one stretch of the text.
    """

    def __init__(
        self,
        network: RestorableNetwork,
        vocabulary: Vocabulary,
        encoder: Encoder | None = None,
        sha256: str = "",
        reader: Reader | None = None,
    ) -> None:
        self.network, self.vocabulary, self.encoder = network.eval(), vocabulary, encoder
        self.reader = reader or stretch_reader(network.shape)
        self.shape, self.sha256 = network.shape, sha256
        self._generator = Generator(network).eval()

    @property
    def compared(self) -> int:
        """The number of the first values of a vector that are the sentence vector."""
        return self.encoder.dim if self.encoder is not None else 0

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.compared + self.shape.dim

    @property
    def longest(self) -> int:
        """The maximum number of vectors of one text."""
        return self.shape.vectors

    @property
    def fingerprint(self) -> str:
        """Identifies weights, vocabulary, and the encoder of sentence vectors."""
        encoder = self.encoder.fingerprint if self.encoder is not None else ""
        facts = f"{self.sha256}/{self.vocabulary.description()}/{encoder}/{asdict(self.shape)}"
        return "restorable:" + hashlib.sha256(facts.encode()).hexdigest()[:16]

    def fits(self, texts: Sequence[str]) -> list[bool]:
        """True if each text needs no more than ``longest`` vectors."""
        return [len(row) <= self.shape.longest for row in self.vocabulary.ids(texts)]

    def meanings(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts compared"]:
        """The unit sentence vectors of texts of any length. Zeros for a text without tokens."""
        if self.encoder is None or not len(texts):
            return np.zeros((len(texts), self.compared), np.float32)
        return self._compared(self.encoder, texts) / np.float32(self.compared**0.5)

    def encode(self, texts: Sequence[str]) -> list[Memory]:
        """The vectors of every text, one for each stretch of its tokens.

        Raises ``InvalidInput`` for a text of more stretches than the longest has.
        """
        ids = self.vocabulary.ids(texts)
        for number, row in enumerate(ids):
            self._check_length(number, row)
        rows = self.reader(texts, ids)
        counts = [len(of_text) for of_text in rows]
        vectors = np.zeros((sum(counts), self.dim), np.float32)
        vectors[:, self.compared :] = self._encode([row for of_text in rows for row in of_text])
        if self.encoder is not None and len(texts):
            vectors[:, : self.compared] = np.repeat(self._compared(self.encoder, texts), counts, axis=0)
        return np.split(vectors, np.cumsum(counts)[:-1]) if len(texts) else []

    def restore(
        self,
        memories: Sequence[Memory],
        *,
        beams: int = 1,
        most_tokens: int | None = None,
        repeats: int = 0,
    ) -> list[Restoration]:
        """The text of each text's vectors: at most ``most_tokens``, and no run of ``repeats`` of them twice.

        Raises ``InvalidInput`` for vectors of another length, for too many of one text, and for NaN or infinity.
        """
        for number, memory in enumerate(memories):
            self._check(number, memory)
        restored: list[Restoration | None] = [None] * len(memories)
        for rows in length_batches([len(memory) for memory in memories], _BATCH):
            for row, restoration in zip(
                rows, self._restore([memories[row] for row in rows], beams, most_tokens, repeats), strict=True
            ):
                restored[row] = restoration
        return [each for each in restored if each is not None]

    @torch.inference_mode()
    def _encode(self, rows: Sequence[Ids]) -> Float32[np.ndarray, "_rows _dim"]:
        vectors = np.zeros((len(rows), self.shape.dim), np.float32)
        for batch in length_batches([len(row) for row in rows], _BATCH_TOKENS):
            vectors[batch] = self.network.encode(*pad([rows[number] for number in batch])).numpy()
        return vectors

    @staticmethod
    def _compared(encoder: Encoder, texts: Sequence[str]) -> Float32[np.ndarray, "texts compared"]:
        """Sentence vectors: the mean over the tokens of all windows of the text; zeros for no tokens."""
        tokens = [each.ids for each in encoder.tokenize(texts)]
        windows = [(row, ids) for row, of in enumerate(tokens) for ids in even_windows(of, encoder.window) if len(ids)]
        sums = np.zeros((len(texts), encoder.dim), np.float32)
        for batch in length_batches([len(ids) for _, ids in windows], _BATCH_TOKENS):
            for number, states in zip(batch, forward_texts(encoder, [windows[n][1] for n in batch]), strict=True):
                sums[windows[number][0]] += states.sum(axis=0)
        return (normalize(sums) * encoder.dim**0.5).astype(np.float32)

    def _restore(
        self, memories: Sequence[Memory], beams: int, most_tokens: int | None, repeats: int
    ) -> list[Restoration]:
        flat = np.concatenate([memory[:, self.compared :] for memory in memories]).astype(np.float32)
        vectors, real = group(torch.from_numpy(flat), [len(memory) for memory in memories])
        tokens = real.shape[1] * self.shape.stretch
        limits = GenerationLimits(tokens if most_tokens is None else min(tokens, most_tokens), beams, repeats)
        ids, confidences = generate(self._generator, vectors, real, limits)
        # A text always fits its vectors: one that does not end is cut, and wrong.
        is_cut = limits.tokens == tokens
        return [
            self._restoration(row.astype(np.int32), sure, is_cut=is_cut and END not in row)
            for row, sure in zip(ids.numpy(), confidences.numpy(), strict=True)
        ]

    def _restoration(self, ids: Ids, confidences: Float32[np.ndarray, " _tokens"], *, is_cut: bool) -> Restoration:
        tokens = self.vocabulary.tokens(ids, confidences)
        return Restoration((*tokens, RestoredToken("", 0.0)) if is_cut else tokens)

    def _check_length(self, number: int, ids: Ids) -> None:
        if len(ids) > self.shape.longest:
            raise InvalidInput(
                f"Text {number} has {len(ids)} tokens; at most {self.shape.longest} can be restored.",
                hint="Split it into sentences.",
                field="texts",
            )

    def _check(self, number: int, memory: Memory) -> None:
        reason = ""
        if memory.shape[1] != self.dim:
            reason = f"has vectors of length {memory.shape[1]}; vectors of this model have {self.dim}"
        elif not 1 <= len(memory) <= self.longest:
            reason = f"has {len(memory)} vectors; a text has 1 to {self.longest}"
        elif not np.isfinite(memory).all():
            reason = "has a vector with NaN or infinity"
        if reason:
            raise InvalidInput(
                f"Text {number} {reason}.",
                hint="Give the vectors as they were made, by this model.",
                field="vectors",
            )


def assemble(shape: RestorableShape, backbone: str = "") -> tuple[RestorableNetwork, Reader]:
    """An untrained network and its reader. Raises ``BackboneMismatch`` for a configuration that only research has."""
    if backbone or (shape.pooling, shape.reading) != ("bound", "gating"):
        raise BackboneMismatch(
            f"Restorable weights with pooling {shape.pooling}, reading {shape.reading} and "
            f"{'a backbone' if backbone else 'no backbone'} cannot be served.",
            hint="Serve weights that `spanseek train restorable` made with its default pooling, reading and backbone.",
        )
    return RestorableNetwork(shape), stretch_reader(shape)


def load_restorer(
    folder: Path, load: Callable[[str], Encoder] | None = None, *, assemble: Assemble = assemble
) -> RestorableModel:
    """Load trained weights and their vocabulary. ``load`` gives encoders by their names.

    Raises ``BackboneMismatch`` if the vectors that searches compare are of another encoder than in training, for
    weights that do not fit the network that ``config.json`` describes, and as ``assemble`` does.
    """
    artifact = load_artifact(folder)
    facts: Any = artifact.config["shape"]
    shape = RestorableShape(**{field.name: facts[field.name] for field in fields(RestorableShape)})
    network, reader = assemble(shape, str(artifact.config.get("backbone", "")))
    _check_begin(folder, artifact, network.shape)
    _fill(network, artifact, folder)
    encoder = _compared_encoder(folder, artifact, load or load_encoder)
    return RestorableModel(network, Vocabulary.load(folder), encoder, artifact.sha256, reader)


def _check_begin(folder: Path, artifact: Artifact, shape: RestorableShape) -> None:
    if shape.begins and not artifact.config.get("begins"):
        raise BackboneMismatch(
            f"The weights in {folder} have the vector of the first word where pooling cls now has that of a token.",
            hint="Train them again with `spanseek train restorable --pooling cls`.",
        )


def _fill(network: RestorableNetwork, artifact: Artifact, folder: Path) -> None:
    """Set the weights of a network. A frozen backbone is not among them."""
    tensors = {name: tensor.float() for name, tensor in artifact.tensors.items()}
    expected = {
        name: tensor.shape
        for name, tensor in network.state_dict().items()
        if not (network.shape.frozen and name.startswith("backbone."))
    }
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    differing = sorted(name for name in expected.keys() | shapes.keys() if expected.get(name) != shapes.get(name))
    if differing:
        raise BackboneMismatch(
            f"The weights in {folder} do not fit config.json: {', '.join(differing[:5])}.",
            hint="The folder must hold all files as `spanseek train restorable` wrote them.",
        )
    network.load_state_dict(tensors, strict=False)


def _compared_encoder(folder: Path, artifact: Artifact, load: Callable[[str], Encoder]) -> Encoder | None:
    facts: Any = artifact.config["encoder"]
    if not facts["fingerprint"]:
        return None
    encoder = load(facts["name"])
    if encoder.fingerprint != facts["fingerprint"]:
        raise BackboneMismatch(
            f"The weights in {folder} compare vectors of {facts['fingerprint']}; the encoder {facts['name']} is "
            f"{encoder.fingerprint}.",
            hint="Set SPANSEEK_BACKBONE to the model that they were trained with, or train restorable over this one.",
        )
    return encoder
