"""Nuggets in the forward pass of a SLICE encoder: its bottom layers are shared, the upper ones are the nuggets' own."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Int32

from models.artifacts import Artifact
from models.backbones import Backbone
from models.encoders.nugget import Nuggets, ReadWindow, check_ratio
from models.encoders.nugget_network import Gather, NuggetNetwork, Selected, gather_named
from models.encoders.selectors import Selectors
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch
from models.layers import inputs_of, layers_of
from models.ops.similarity import normalize

LAYER = 3


class SliceNuggetEncoder:
    """A scorer and upper layers beside those of a SLICE encoder, which is left as it is.

    Without an artifact the parameters are those a training begins with. The weights stand on the backbone and on the
    bottom ``layer`` layers alone, and are refused where these are others. ``selector`` lets another choose than the one
    the weights were trained with, to compare them.
    """

    def __init__(
        self, base: SliceEncoder, artifact: Artifact | None = None, *, layer: int = LAYER, selector: str | None = None
    ) -> None:
        self.base = base
        self.layer = int(artifact.config["layer"]) if artifact else layer  # type: ignore[arg-type]
        self._backbone = base.backbone
        self.dim = self._backbone.dim
        found = foundation(self._backbone, self.layer)
        self.network = start_network(self._backbone, self.layer, feedback=_feedback(artifact), gather=_gather(artifact))
        self.fingerprint = f"nugget.v1-{self._backbone.fingerprint}-{found[:24]}-{self.layer}"
        self._selectors = _selectors(artifact, self._backbone, selector)
        if artifact:
            check_foundation(artifact, found)
            put_in_place(self.network, artifact)
            self.fingerprint += f"-{artifact.sha256[:24]}"
        if selector:
            self.fingerprint += f"-{selector}"
        self.network.to(self._backbone.device).eval().requires_grad_(False)

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]], ratio: float
    ) -> Iterator[list[ReadWindow]]:
        """Token vectors as ``base`` gives them, and the nuggets, in one pass of the layers they share."""
        check_ratio(ratio)
        for batch in batches:
            with inputs_of(layers_of(self._backbone.model)[self.layer]) as seen:
                (vectors,) = self.base.forward([batch])
            lengths = [len(window) for window in batch]
            with torch.inference_mode(), self._backbone.precision():
                selected = self.network(seen[0], self._backbone.begin, lengths, self._selectors.of(batch, ratio))
            yield list(zip(vectors, unpadded(selected, self._backbone.begin), strict=True))


def foundation(backbone: Backbone, layer: int) -> str:
    """A checksum of what nuggets stand on: the backbone, and its bottom layers as they are now."""
    digest = hashlib.sha256(backbone.weights_sha256.encode())
    for below in layers_of(backbone.model)[:layer]:
        for name, parameter in sorted(below.state_dict().items()):
            digest.update(name.encode())
            digest.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def start_network(backbone: Backbone, layer: int, *, feedback: bool = True, gather: Gather = "token") -> NuggetNetwork:
    """The parameters a training begins with: the backbone's own upper layers. Raises ``BackboneMismatch``."""
    layers = layers_of(backbone.model)
    if not 0 <= layer < len(layers):
        raise BackboneMismatch(
            f"Nuggets on layer {layer} need more layers above than this backbone of {len(layers)} has.",
            hint="Use the backbone the weights were trained on, or train some with a lower layer.",
            field="layer",
        )
    return NuggetNetwork(list(layers[layer:]), backbone.dim, feedback=feedback, gather=gather)


def check_foundation(artifact: Artifact, found: str) -> None:
    """Raise ``BackboneMismatch`` where trained parameters stand on other layers than those found."""
    if artifact.config.get("foundation_sha256") != found:
        raise BackboneMismatch(
            f"These nugget weights stand on other layers than those of this encoder "
            f"({artifact.config.get('foundation_sha256')}, not {found}).",
            hint="Use them with the backbone and the SLICE weights whose bottom layers they were trained on, "
            "or train nugget weights for these.",
        )


def put_in_place(network: torch.nn.Module, artifact: Artifact) -> None:
    """Load trained parameters. Raises ``BackboneMismatch`` where their names or shapes are others."""
    parameters = dict(network.named_parameters())
    fits = parameters.keys() == artifact.tensors.keys() and all(
        parameters[name].shape == tensor.shape for name, tensor in artifact.tensors.items()
    )
    if not fits:
        raise BackboneMismatch(
            "These nugget weights do not fit the upper layers of this backbone.",
            hint="They were made for another architecture: train nugget weights for this one.",
        )
    with torch.no_grad():
        for name, tensor in artifact.tensors.items():
            parameters[name].copy_(tensor)


def unpadded(selected: Selected, begin: int) -> list[Nuggets]:
    """The nuggets of every window, of unit length."""
    vectors, scores = selected.vectors.float().cpu().numpy(), selected.scores.float().cpu().numpy()
    positions, real = selected.positions.cpu().numpy() - begin, selected.real.cpu().numpy()
    return [
        Nuggets(normalize(vectors[row][kept]).astype(np.float32), positions[row][kept], scores[row][kept])
        for row, kept in enumerate(real)
    ]


def _feedback(artifact: Artifact | None) -> bool:
    return bool(artifact.config.get("feedback", True)) if artifact else True


def _gather(artifact: Artifact | None) -> Gather:
    """How the weights were trained to gather; those that do not say gather tokens."""
    return gather_named(str(artifact.config.get("gather", "token"))) if artifact else "token"


def _selectors(artifact: Artifact | None, backbone: Backbone, selector: str | None) -> Selectors:
    config = artifact.config if artifact else {}
    name = selector or str(config.get("selector", "learned"))
    return Selectors.named(name, backbone, float(str(config.get("spacing", 0.0))))
