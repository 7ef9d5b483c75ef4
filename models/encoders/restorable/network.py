"""The network of restorable embeddings: an encoder of stretches of tokens, and a decoder that shares its words."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from models.encoders.restorable.decoders import Cache, Decoder, DecoderLayer, Gating
from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import BEGIN

_SEED = 13


class RestorableNetwork(nn.Module):
    """Stretches of tokens to vectors, and vectors to the tokens.

    Pooling multiplies the projection of every token with random signs of its place before the mean (holographic
    binding), so that a vector says what stands where, not only what; gates undo it. The map out of the first gating
    layer begins as the inverse of the projection: an untrained network already finds most tokens.
    """

    signs: Tensor

    def __init__(self, shape: RestorableShape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Embedding(shape.vocabulary, shape.width)
        self.places = nn.Parameter(torch.randn(shape.stretch, shape.width) * 0.1)
        layer = nn.TransformerEncoderLayer(
            shape.width, shape.heads, shape.hidden, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.encoder = (
            nn.TransformerEncoder(layer, shape.encoder_layers, enable_nested_tensor=False)
            if shape.encoder_layers
            else None
        )
        self.norm = nn.LayerNorm(shape.width)
        self.project = nn.Linear(shape.width, shape.dim, bias=False)
        self.decoder = Decoder(shape)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("signs", _signs(shape))
        self._begin()

    @torch.no_grad()
    def _begin(self) -> None:
        width = self.shape.width
        nn.init.normal_(self.embed.weight, std=width**-0.5)
        nn.init.normal_(self.project.weight, std=width**-0.5)
        for layer in self.encoder.layers if self.encoder is not None else ():
            nn.init.zeros_(layer.self_attn.out_proj.weight)
            nn.init.zeros_(layer.linear2.weight)
        self._invert_projection()

    def _invert_projection(self) -> None:
        first = self.decoder.layers[0]
        assert isinstance(first, DecoderLayer)  # noqa: S101
        assert isinstance(first.reading, Gating)  # noqa: S101
        first.reading.out.weight.copy_(self.project.weight.T * (self.shape.width / self.shape.dim))

    def encode(self, ids: Int[Tensor, "rows tokens"], mask: Bool[Tensor, "rows tokens"]) -> Float[Tensor, "rows dim"]:
        """The vector of every row, whose real tokens ``mask`` names."""
        hidden = self.embed(ids) * self.shape.width**0.5 + self.places[: ids.shape[1]]
        if not self.shape.begins:
            return self._above(hidden, mask)
        begin = (self.embed.weight[BEGIN] * self.shape.width**0.5).expand(len(hidden), 1, -1)
        return self._above(torch.cat([begin, hidden], dim=1), functional.pad(mask, (1, 0), value=True))

    def _above(
        self, hidden: Float[Tensor, "rows tokens width"], mask: Bool[Tensor, "rows tokens"]
    ) -> Float[Tensor, "rows dim"]:
        if self.encoder is not None:
            hidden = self.encoder(hidden, src_key_padding_mask=~mask)
        return self._pool(self.project(self.norm(hidden)), mask)

    def _pool(
        self, projected: Float[Tensor, "rows tokens dim"], mask: Bool[Tensor, "rows tokens"]
    ) -> Float[Tensor, "rows dim"]:
        """The mean of bound vectors; of this variance 1, whatever the number of tokens."""
        return scaled_mean(projected * self.signs[: projected.shape[1]], mask)

    def forward(
        self,
        ids: Int[Tensor, "texts tokens"],
        vectors: Float[Tensor, "texts vectors dim"],
        real: Bool[Tensor, "texts vectors"],
        start: int = 0,
        cache: Cache = None,
    ) -> Float[Tensor, "texts tokens vocabulary"]:
        """The scores of the token after every token, from number ``start`` on, given the vectors of the texts."""
        hidden = self.decoder(self.embed(ids), vectors, real, self.signs, start, cache)
        return hidden @ self.embed.weight.T * self.scale


def scaled_mean(
    vectors: Float[Tensor, "rows tokens dim"], mask: Bool[Tensor, "rows tokens"]
) -> Float[Tensor, "rows dim"]:
    """Eq. 2, scaled: the sum of real tokens over the square root of their number."""
    return (vectors * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True).sqrt()


def _signs(shape: RestorableShape) -> Float[Tensor, "stretch dim"]:
    """Signs of every place. They are stored with the weights, which no other signs fit."""
    rng = np.random.default_rng(_SEED)
    return torch.from_numpy(rng.choice(np.array([-1, 1], np.float32), size=(shape.stretch, shape.dim)))
