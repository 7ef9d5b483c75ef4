"""SLICE: token vectors whose mean over any span is that span's meaning (Orbach et al., 2023, section 3.1)."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float32, Int32

from models.artifacts import Artifact
from models.backbones import Backbone
from models.errors import BackboneMismatch
from models.tokens import Tokens


class SliceEncoder:
    """A backbone, with the layers that SLICE training changed put in place.

    Without an artifact it is the untrained backbone, whose token means are the baseline of the paper's Table 1.
    """

    def __init__(self, backbone: Backbone, artifact: Artifact | None = None) -> None:
        self.backbone = backbone
        self.dim = backbone.dim
        self.window = backbone.window
        self.batch_tokens = backbone.batch_tokens()
        self.fingerprint = f"slice.v1-{backbone.fingerprint}"
        if artifact:
            _put_in_place(backbone, artifact)
            self.fingerprint += f"-{artifact.sha256[:24]}"

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """The backbone's tokens, special ones left out."""
        return self.backbone.tokenize(texts)

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]]
    ) -> Iterator[list[Float32[np.ndarray, "_tokens dim"]]]:
        """The backbone's last hidden states."""
        return self.backbone.forward(batches)


def _put_in_place(backbone: Backbone, artifact: Artifact) -> None:
    trained_on = artifact.config.get("backbone_sha256")
    if trained_on != backbone.weights_sha256:
        raise BackboneMismatch(
            f"These SLICE weights belong to a backbone with SHA-256 {trained_on}, not {backbone.weights_sha256}.",
            hint="Use the backbone they were trained on, or train SLICE weights for this one.",
        )
    parameters = dict(backbone.model.named_parameters())
    alien = [
        name
        for name, tensor in artifact.tensors.items()
        if name not in parameters or parameters[name].shape != tensor.shape
    ]
    if alien:
        raise BackboneMismatch(
            f"The backbone has no parameters of the same shape for {', '.join(sorted(alien)[:3])}.",
            hint="These weights were made for another architecture: train SLICE weights for this one.",
        )
    with torch.no_grad():
        for name, tensor in artifact.tensors.items():
            parameters[name].copy_(tensor)
