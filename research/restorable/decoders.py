"""The decoders that RE compares with gates: attention to vectors, and vectors before the first token."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from models.encoders.restorable.decoders import Cache, Decoder, Gating, Hidden, Source
from models.encoders.restorable.shape import RestorableShape


def decoder_of(shape: RestorableShape) -> Decoder:
    """The decoder that reads vectors as the shape says."""
    if shape.reading == "input":
        return InputDecoder(shape)
    return Decoder(shape, CrossAttention if shape.reading == "cross" else Gating)


class CrossAttention(nn.Module):
    """Attention of tokens to the vectors of their text (the cross decoder)."""

    def __init__(self, shape: RestorableShape, place: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.attention = nn.MultiheadAttention(
            shape.width, shape.heads, kdim=shape.dim, vdim=shape.dim, batch_first=True
        )

    def forward(self, hidden: Hidden, source: Source, cache: Cache) -> Hidden:
        """Return the attention's output, to be added to the hidden states."""
        vectors, padding = source.vectors, ~source.real
        added: Tensor
        added, _ = self.attention(self.norm(hidden), vectors, vectors, key_padding_mask=padding, need_weights=False)
        return added


class InputDecoder(Decoder):
    """Vectors stand before the first token; layers read them as tokens."""

    def __init__(self, shape: RestorableShape) -> None:
        super().__init__(shape, lambda shape, place: None)
        self.before = nn.Linear(shape.dim, shape.width)

    def _through(self, hidden: Hidden, source: Source, start: int, cache: Cache) -> Hidden:
        count = hidden.shape[1]
        hidden, mask = self._with_vectors(hidden, source, start)
        for layer in self.layers:
            hidden = layer(hidden, source, mask, cache)
        normed: Tensor = self.norm(hidden[:, -count:])
        return normed

    def _with_vectors(
        self, hidden: Hidden, source: Source, start: int
    ) -> tuple[Float[Tensor, "texts _more width"], Bool[Tensor, "texts 1 _more _keys"]]:
        """Input of the layers, and the mask of what each token of it may read."""
        texts, count, _ = hidden.shape
        prefix, real = source.vectors.shape[1], source.real
        causal = torch.ones(count + start + prefix, count + start + prefix, dtype=torch.bool, device=hidden.device)
        keys = torch.cat([real, real.new_ones(texts, count + start)], dim=1)
        mask = (causal.tril()[None] & keys[:, None]) | torch.eye(len(causal), dtype=torch.bool, device=hidden.device)
        if start == 0:
            return torch.cat([self.before(source.vectors), hidden], dim=1), mask[:, None]
        return hidden, mask[:, None, -count:]
