"""The network with RE's other poolings and decoders, and over a backbone (configurations a to d)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from models.encoders.restorable.decoders import DecoderLayer, Gating
from models.encoders.restorable.model import RestorableModel
from models.encoders.restorable.network import RestorableNetwork, scaled_mean
from models.encoders.restorable.shape import RestorableShape
from research.restorable.decoders import decoder_of


def network_of(model: RestorableModel) -> "VariantNetwork":
    """The network of a model that ``load_variant`` read."""
    if not isinstance(model.network, VariantNetwork):
        raise TypeError("the model was not read as a variant")
    return model.network


class VariantNetwork(RestorableNetwork):
    """A restorable network that pools, and whose decoder reads, as the shape says; over a backbone if there is one.

    Over a backbone of the same width, the first numbers of an untrained network's vector are the backbone's own states,
    normalised and pooled: what stands above it begins as the identity.
    """

    def __init__(self, shape: RestorableShape, backbone: nn.Module | None = None) -> None:
        super().__init__(shape)
        self.backbone = backbone
        if backbone is not None:
            del self.places
            self.read = nn.Linear(shape.backbone_dim, shape.width)
            backbone.requires_grad_(not shape.frozen)
        if (shape.pooling, shape.reading) != ("bound", "gating"):
            self.decoder = decoder_of(shape)
        self._begin_variant()

    @torch.no_grad()
    def _begin_variant(self) -> None:
        width = self.shape.width
        if self.backbone is not None and width == self.shape.backbone_dim:
            nn.init.eye_(self.read.weight)
            nn.init.zeros_(self.read.bias)
            nn.init.eye_(self.project.weight[:width])
        gates = [layer.reading for layer in self.decoder.layers if isinstance(layer, DecoderLayer)]
        for gate in (gate for gate in gates if isinstance(gate, Gating)):
            gate.unbind.fill_(float(self.shape.pooling == "bound"))
        if (self.shape.pooling, self.shape.reading) == ("bound", "gating"):
            self._invert_projection()

    def encode(self, ids: Int[Tensor, "rows tokens"], mask: Bool[Tensor, "rows tokens"]) -> Float[Tensor, "rows dim"]:
        """The vector of every row, whose real tokens ``mask`` names; of a backbone, if there is one."""
        if self.backbone is None:
            return super().encode(ids, mask)
        return self.encode_states(self.backbone(input_ids=ids, attention_mask=mask).last_hidden_state, mask)

    def encode_states(
        self, states: Float[Tensor, "rows tokens states"], mask: Bool[Tensor, "rows tokens"]
    ) -> Float[Tensor, "rows dim"]:
        """The vector of every row of hidden states of the backbone."""
        return self._above(self.read(states), mask)

    def _pool(
        self, projected: Float[Tensor, "rows tokens dim"], mask: Bool[Tensor, "rows tokens"]
    ) -> Float[Tensor, "rows dim"]:
        """Eq. 1, eq. 2, or the mean of bound vectors."""
        if self.shape.pooling == "cls":
            return projected[:, 0]
        return scaled_mean(projected, mask) if self.shape.pooling == "mean" else super()._pool(projected, mask)
