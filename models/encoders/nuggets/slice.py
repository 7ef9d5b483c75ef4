"""Nuggets in the forward pass of a SLICE encoder: its bottom layers are shared, the upper ones are the nuggets' own."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int32

from models.artifacts import Artifact
from models.backbone_files import BackboneFiles
from models.encoders.nuggets.base import Nuggets, ReadWindow, check_ratio
from models.encoders.nuggets.parts import (
    LAYER,
    check_fits,
    check_foundation,
    check_layer,
    feedback_of,
    foundation,
    gather_of,
)
from models.encoders.nuggets.queries import QueryNuggets
from models.encoders.nuggets.selectors import Selectors
from models.encoders.slice import SliceEncoder

if TYPE_CHECKING:
    from models.encoders.nuggets.network import NuggetNetwork


class SliceNuggetEncoder:
    """A scorer and upper layers beside those of a SLICE encoder, which is left as it is.

    Without an artifact the parameters are those a training begins with. The weights stand on the backbone and on the
    bottom ``layer`` layers alone, and are refused where these are others. ``selector`` lets another choose than the one
    the weights were trained with, to compare them. As in the encoder below, queries do without torch.
    """

    def __init__(
        self, base: SliceEncoder, artifact: Artifact | None = None, *, layer: int = LAYER, selector: str | None = None
    ) -> None:
        self.base = base
        self.layer = int(artifact.config["layer"]) if artifact else layer  # type: ignore[arg-type]
        self.dim = base.hidden_dim
        self._artifact, self._gather = artifact, gather_of(artifact)
        self._selectors = _selectors(artifact, base.files, selector)
        check_layer(base, self.layer)
        found = foundation(base, self.layer)
        self.fingerprint = f"nugget.v1-{base.files.fingerprint}-{found[:24]}-{self.layer}"
        if artifact:
            check_foundation(artifact, found)
            check_fits(base, artifact, self.layer)
            self.fingerprint += f"-{artifact.sha256[:24]}"
        if selector:
            self.fingerprint += f"-{selector}"
        if base.has_network:
            self.network  # noqa: B018  others may change the encoder's layers later, but not these

    @cached_property
    def network(self) -> "NuggetNetwork":
        """The network that torch runs."""
        from models.encoders.nuggets.network import put_in_place, start_network

        backbone = self.base.backbone
        network = start_network(backbone, self.layer, feedback=feedback_of(self._artifact), gather=self._gather)
        if self._artifact:
            put_in_place(network, self._artifact)
        return network.to(backbone.device).eval().requires_grad_(False)

    def forward(
        self, batches: Iterable[Sequence[Int32[np.ndarray, " _tokens"]]], ratio: float
    ) -> Iterator[list[ReadWindow]]:
        """Token vectors as ``base`` gives them, and the nuggets, in one pass of the layers they share."""
        from models.encoders.nuggets.network import read_batch

        check_ratio(ratio)
        for batch in batches:
            yield read_batch(self.base, self.network, self.layer, self._selectors.of(batch, ratio), batch)

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> list[Nuggets]:
        """The nuggets of a few windows, without torch where there are weights and the architecture allows."""
        check_ratio(ratio)
        if self._query_nuggets is not None:
            return self._query_nuggets(batch, ratio)
        (read,) = self.forward([batch], ratio)
        return [nuggets for _, nuggets in read]

    @cached_property
    def _query_nuggets(self) -> QueryNuggets | None:
        below = self.base.query_network
        if self._artifact is None or below is None:
            return None
        return QueryNuggets(below, self.layer, self._artifact, self._selectors)


def _selectors(artifact: Artifact | None, backbone: BackboneFiles, selector: str | None) -> Selectors:
    config = artifact.config if artifact else {}
    name = selector or str(config.get("selector", "learned"))
    return Selectors.named(name, backbone, float(str(config.get("spacing", 0.0))))
