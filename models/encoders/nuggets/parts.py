"""Names, checks and defaults of nugget weights that need no network."""

import hashlib
from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Shaped

from models.artifacts import Artifact
from models.encoders.nuggets.selectors import LEARNED, Selectors
from models.errors import BackboneMismatch, InvalidInput

LAYER = 3

# The vectors that the network gathers in a nugget.
Gather: TypeAlias = Literal["token", "segment"]
GATHERS: tuple[Gather, ...] = ("token", "segment")


def gather_named(name: str) -> Gather:
    """Check the name of a way to gather nuggets. Raises ``InvalidInput``.

    >>> gather_named("segment")
    'segment'
    """
    if name not in GATHERS:
        raise InvalidInput(
            f"Nuggets cannot be gathered by {name!r}.",
            hint=f"They are gathered by: {', '.join(GATHERS)}.",
            field="gather",
        )
    return name


def gather_of(artifact: Artifact | None) -> Gather:
    """The way of gathering that the weights were trained with; ``token`` by default."""
    return gather_named(str(artifact.config.get("gather", "token"))) if artifact else "token"


def feedback_of(artifact: Artifact | None) -> bool:
    """True if the upper layers receive type embeddings of nuggets."""
    return bool(artifact.config.get("feedback", True)) if artifact else True


def spacing_of(artifact: Artifact) -> float:
    """The distance between nuggets that the weights were trained with, as a share of their mean distance."""
    return float(str(artifact.config.get("spacing", 0.0)))


def selectors_of(artifact: Artifact | None) -> Selectors:
    """The selectors of trained weights. Raises ``BackboneMismatch`` for nuggets that a rule chooses."""
    if artifact is None:
        return Selectors.learned()
    name = artifact.config.get("selector", LEARNED)
    if name != LEARNED:
        raise BackboneMismatch(
            f"The nuggets of these weights are chosen by the rule {name}, not by the scorer.",
            hint="Rules are baselines of research. Train nugget weights with --selector learned.",
        )
    return Selectors.learned(spacing_of(artifact))


@runtime_checkable
class Layered(Protocol):
    """A backbone, or an encoder with one, as far as nuggets depend on it."""

    @property
    def depth(self) -> int:
        """The number of layers."""

    @property
    def hidden_dim(self) -> int:
        """The length of a hidden state."""

    @property
    def weights_sha256(self) -> str:
        """The checksum of the backbone's weights as they were published."""

    def layer_parameters(self, number: int) -> Mapping[str, Shaped[np.ndarray, "..."]]:
        """The current parameters of one layer, by their names within it."""


def check_layer(backbone: Layered, layer: int) -> None:
    """Raise ``BackboneMismatch`` if a backbone has no layers above this one."""
    if not 0 <= layer < backbone.depth:
        raise BackboneMismatch(
            f"Nuggets on layer {layer} need layers above it; this backbone has {backbone.depth}.",
            hint="Use the backbone the weights were trained on, or train some with a lower layer.",
            field="layer",
        )


def foundation(backbone: Layered, layer: int) -> str:
    """A checksum of the backbone and its current bottom layers, on which nuggets depend."""
    digest = hashlib.sha256(backbone.weights_sha256.encode())
    for number in range(layer):
        for name, array in sorted(backbone.layer_parameters(number).items()):
            digest.update(name.encode())
            digest.update(np.asarray(array, np.float32).tobytes())
    return digest.hexdigest()


def check_foundation(artifact: Artifact, checksum: str) -> None:
    """Raise ``BackboneMismatch`` if weights were trained on layers of another checksum."""
    if artifact.config.get("foundation_sha256") != checksum:
        raise BackboneMismatch(
            f"These nugget weights were trained on other layers than this encoder's "
            f"({artifact.config.get('foundation_sha256')}, not {checksum}).",
            hint="Use them with the backbone and the SLICE weights that they were trained on, "
            "or train nugget weights for these.",
        )


def check_fits(backbone: Layered, artifact: Artifact, layer: int) -> None:
    """Raise ``BackboneMismatch`` if trained parameters have other names or shapes than the upper layers."""
    if {name: array.shape for name, array in artifact.arrays.items()} != _shapes(backbone, artifact, layer):
        raise BackboneMismatch(
            "These nugget weights do not fit the upper layers of this backbone.",
            hint="They were made for another architecture: train nugget weights for this one.",
        )


def _shapes(backbone: Layered, artifact: Artifact, layer: int) -> dict[str, tuple[int, ...]]:
    dim = backbone.hidden_dim
    shapes: dict[str, tuple[int, ...]] = {
        "scorer.0.weight": (dim, dim),
        "scorer.0.bias": (dim,),
        "scorer.2.weight": (1, dim),
        "scorer.2.bias": (1,),
        "value.weight": (dim, dim),
    }
    if feedback_of(artifact):
        shapes["types"] = (2, dim)
    return shapes | {
        f"layers.{number - layer}.{name}": array.shape
        for number in range(layer, backbone.depth)
        for name, array in backbone.layer_parameters(number).items()
    }
