"""Nuggets in the forward pass of a SLICE encoder: bottom layers are shared, upper layers are separate."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int32

from models.artifacts import Artifact
from models.encoders.nuggets.base import Nuggets, ReadWindow, check_ratio
from models.encoders.nuggets.parts import (
    LAYER,
    check_fits,
    check_foundation,
    check_layer,
    feedback_of,
    foundation,
    gather_of,
    selectors_of,
)
from models.encoders.nuggets.queries import QueryNuggets
from models.encoders.nuggets.selectors import Selectors
from models.encoders.slice import SliceEncoder

if TYPE_CHECKING:
    from models.encoders.nuggets.network import NuggetNetwork


class SliceNuggetEncoder:
    """A scorer and upper layers beside a SLICE encoder, which is unchanged.

    Without an artifact the parameters are those before training. The weights depend on the backbone and on the bottom
    ``layer`` layers only, and are refused if these differ. ``selectors`` override those that the weights were
    trained with. As in the encoder below, queries do not need torch.
    """

    def __init__(
        self,
        base: SliceEncoder,
        artifact: Artifact | None = None,
        *,
        layer: int = LAYER,
        selectors: Selectors | None = None,
    ) -> None:
        self.base = base
        self.layer = int(artifact.config["layer"]) if artifact else layer  # type: ignore[arg-type]
        self.dim = base.hidden_dim
        self._artifact, self._gather = artifact, gather_of(artifact)
        self._selectors = selectors or selectors_of(artifact)
        check_layer(base, self.layer)
        checksum = foundation(base, self.layer)
        self.fingerprint = f"nugget.v1-{base.files.fingerprint}-{checksum[:24]}-{self.layer}"
        if artifact:
            check_foundation(artifact, checksum)
            check_fits(base, artifact, self.layer)
            self.fingerprint += f"-{artifact.sha256[:24]}"
        if selectors:
            self.fingerprint += f"-{selectors.name}"
        if base.has_network:
            self.network  # noqa: B018  later changes to the encoder's layers must not change these

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
        """The token vectors of ``base``, and the nuggets, in one pass through the shared layers."""
        from models.encoders.nuggets.network import NuggetReader

        check_ratio(ratio)
        yield from NuggetReader(self.base, self.network, self.layer, self._selectors, ratio).read(batches)

    def forward_query(self, batch: Sequence[Int32[np.ndarray, " _tokens"]], ratio: float) -> list[Nuggets]:
        """The nuggets of a few windows, without torch if there are weights and the architecture allows it."""
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
