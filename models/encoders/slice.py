"""SLICE: token vectors whose mean over any span is that span's meaning (Orbach et al., 2023, section 3.1)."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Float32, Int32
from torch import Tensor

from models.artifacts import Artifact
from models.backbones import Backbone
from models.errors import BackboneMismatch
from models.packed import PackedBert, packed_bert
from models.tokens import Tokens

PROJECTION = "projection"  # the artifact's tensor that is no parameter of the backbone: (dim, fewer dimensions)


class SliceEncoder:
    """A backbone, with the layers that SLICE training changed put in place.

    Without an artifact it is the untrained backbone, whose token means are the baseline of the paper's Table 1.
    ``projected`` gives the fewer dimensions of the projection that was trained along. Sums commute with it: a span's
    projected vector is the sum of its units' projected vectors.
    """

    def __init__(self, backbone: Backbone, artifact: Artifact | None = None, *, projected: bool = False) -> None:
        self.backbone = backbone
        self.dim = backbone.dim
        self.window = backbone.window
        self.batch_tokens = backbone.batch_tokens()
        self.fingerprint = f"slice.v1-{backbone.fingerprint}"
        if artifact:
            put_in_place(backbone, artifact)
            self.fingerprint += f"-{artifact.sha256[:24]}"
        self._projection = projection_of(artifact).numpy() if projected else None
        if self._projection is not None:
            self.dim = self._projection.shape[1]
            self.fingerprint += f"-{self.dim}d"

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """The backbone's tokens, special ones left out."""
        return self.backbone.tokenize(texts)

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
    ) -> Iterator[list[Float32[np.ndarray, "_tokens dim"]]]:
        """The backbone's last hidden states, projected if so asked."""
        for found in self.backbone.forward(batches):
            yield self._projected(found)

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        """The same, from a network that was packed for few tokens, where there is one for this architecture."""
        if self._packed is None:
            (found,) = self.forward([batch])
            return found
        states = self._packed(*self.backbone.pad(batch))
        return self._projected(self.backbone.unpad(states, [len(window) for window in batch]))

    @cached_property
    def _packed(self) -> PackedBert | None:
        return packed_bert(self.backbone.model, self.backbone.device)

    def _projected(self, found: list[Float32[np.ndarray, "_tokens whole"]]) -> list[Float32[np.ndarray, "_tokens dim"]]:
        return found if self._projection is None else [vectors @ self._projection for vectors in found]


def projection_of(artifact: Artifact | None) -> Float[Tensor, "dim fewer"]:
    """The projection that was trained along. Raises ``BackboneMismatch`` where there is none."""
    if artifact is None or PROJECTION not in artifact.tensors:
        raise BackboneMismatch(
            "These weights hold no projection to fewer dimensions.",
            hint="Use the encoder slice, or weights that spanseek train slice made.",
        )
    return artifact.tensors[PROJECTION].float()


def put_in_place(backbone: Backbone, artifact: Artifact) -> None:
    """Give a backbone the layers that SLICE training changed. Raises ``BackboneMismatch`` for another backbone's."""
    trained_on = artifact.config.get("backbone_sha256")
    if trained_on != backbone.weights_sha256:
        raise BackboneMismatch(
            f"These weights belong to a backbone with SHA-256 {trained_on}, not {backbone.weights_sha256}.",
            hint="Use the backbone they were trained on, or train SLICE weights for this one.",
        )
    parameters = dict(backbone.model.named_parameters())
    layers = {name: tensor for name, tensor in artifact.tensors.items() if name != PROJECTION}
    alien = [
        name for name, tensor in layers.items() if name not in parameters or parameters[name].shape != tensor.shape
    ]
    if alien:
        raise BackboneMismatch(
            f"The backbone has no parameters of the same shape for {', '.join(sorted(alien)[:3])}.",
            hint="These weights were made for another architecture: train SLICE weights for this one.",
        )
    with torch.no_grad():
        for name, tensor in layers.items():
            parameters[name].copy_(tensor)
