"""The decoder: self-attention, and gates that read the vectors of a text (RE, sections 3.2 and 3.3).

What a step of generation must know of earlier ones lies in a cache of transformers, which reorders it for beams: keys
and values of self-attention, and the queries of gates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from models.encoders.restorable.shape import RestorableShape

# transformers' DynamicCache; None where all tokens are given at once.
Cache: TypeAlias = Any

Hidden: TypeAlias = Float[Tensor, "texts tokens width"]
Vectors: TypeAlias = Float[Tensor, "texts vectors dim"]


@dataclass(frozen=True, slots=True)
class Source:
    """The input of a decoder: the vectors of texts, and which of them are no padding.

    A token stands in a stretch, which has one vector; ``signs`` belong to its place there.
    """

    vectors: Vectors
    real: Bool[Tensor, "texts vectors"]
    stretches: Int[Tensor, " tokens"]
    signs: Float[Tensor, "tokens dim"]


class SelfAttention(nn.Module):
    """Causal attention of tokens to tokens."""

    def __init__(self, shape: RestorableShape, place: int) -> None:
        super().__init__()
        self.heads, self.place = shape.heads, place
        self.norm = nn.LayerNorm(shape.width)
        self.project = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)

    def forward(self, hidden: Hidden, mask: Bool[Tensor, "texts 1 tokens keys"] | None, cache: Cache) -> Hidden:
        """The addition to the hidden states. ``mask`` says what may be read; None: what stands before."""
        parts = self.project(self.norm(hidden)).chunk(3, dim=-1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        if cache is not None:
            key, value = cache.update(key, value, self.place)
        causal = mask is None and query.shape[2] > 1
        read = functional.scaled_dot_product_attention(query, key, value, mask, is_causal=causal)
        added: Tensor = self.out(read.transpose(1, 2).flatten(-2))
        return added


class Gating(nn.Module):
    """The gating layer (eq. 4 and 5): a gate for every number of the vector, from the tokens so far and the vector.

    W2 on the concatenation is the sum of a map of the running mean and one of the vector, which is the same for all
    tokens of a stretch and computed once. The activation is the gated ReLU. Pooling binds tokens to their places;
    a gate begins as the signs of the place whose token is to come, which unbinds it from the vector.
    """

    def __init__(self, shape: RestorableShape, place: int) -> None:
        super().__init__()
        self.place = place
        self.norm = nn.LayerNorm(shape.width)
        self.query = nn.Linear(shape.width, shape.dim, bias=False)
        self.gate_query = nn.Linear(shape.dim, 2 * shape.dim)
        self.gate_vector = nn.Linear(shape.dim, 2 * shape.dim, bias=False)
        self.out = nn.Linear(shape.dim, shape.width)
        self.unbind = nn.Parameter(torch.ones(shape.dim))

    def forward(self, hidden: Hidden, source: Source, cache: Cache) -> Hidden:
        """The addition to the hidden states: a token reads the vector of the stretch it stands in."""
        vectors = source.vectors
        means = self._running_means(self.query(self.norm(hidden)), cache)
        per_token = source.stretches[None, :, None].expand(len(vectors), -1, -1)
        of_vectors = self.gate_vector(vectors)
        parts = self.gate_query(means) + of_vectors.gather(1, per_token.expand(-1, -1, of_vectors.shape[-1]))
        value, gate = parts.chunk(2, dim=-1)
        gates = value * functional.relu(gate) + self.unbind * source.signs
        added: Tensor = self.out(gates * vectors.gather(1, per_token.expand(-1, -1, vectors.shape[-1])))
        return added

    def _running_means(self, queries: Float[Tensor, "texts tokens dim"], cache: Cache) -> Tensor:
        """Eq. 4: the mean of the queries up to each token."""
        seen = queries
        if cache is not None:
            seen = cache.update(queries[:, None], queries[:, None, :, :0], self.place)[0][:, 0]
        counts = torch.arange(1, seen.shape[1] + 1, device=seen.device, dtype=seen.dtype)
        return (seen.cumsum(dim=1) / counts[:, None])[:, -queries.shape[1] :]


class FeedForward(nn.Sequential):
    """Two linear maps with a GELU between them, on normalised states."""

    def __init__(self, shape: RestorableShape) -> None:
        super().__init__(
            nn.LayerNorm(shape.width),
            nn.Linear(shape.width, shape.hidden),
            nn.GELU(),
            nn.Linear(shape.hidden, shape.width),
        )


# Makes the part of a layer that reads vectors, None for a decoder that reads them elsewhere. The number is the cache's.
MakeReading: TypeAlias = Callable[[RestorableShape, int], nn.Module | None]


class DecoderLayer(nn.Module):
    """Self-attention, the reading of vectors, and a feed-forward network, each added to its input."""

    def __init__(self, shape: RestorableShape, layer: int, reading: MakeReading) -> None:
        super().__init__()
        self.attention = SelfAttention(shape, layer)
        # The cache keeps the queries of gates behind the keys of all layers.
        self.reading = reading(shape, shape.decoder_layers + layer)
        self.feed_forward = FeedForward(shape)

    def forward(
        self, hidden: Hidden, source: Source, mask: Bool[Tensor, "texts 1 tokens keys"] | None, cache: Cache
    ) -> Hidden:
        """The hidden states after this layer."""
        hidden = hidden + self.attention(hidden, mask, cache)
        if self.reading is not None:
            hidden = hidden + self.reading(hidden, source, cache)
        return hidden + self.feed_forward(hidden)


class Decoder(nn.Module):
    """Embedded tokens and the vectors of their texts, to hidden states that tell the next tokens."""

    def __init__(self, shape: RestorableShape, reading: MakeReading = Gating) -> None:
        super().__init__()
        self.shape = shape
        self.places = nn.Parameter(torch.randn(shape.longest + 1, shape.width) * 0.02)
        self.layers = nn.ModuleList(DecoderLayer(shape, layer, reading) for layer in range(shape.decoder_layers))
        self.norm = nn.LayerNorm(shape.width)

    def forward(
        self,
        embedded: Hidden,
        vectors: Vectors,
        real: Bool[Tensor, "texts vectors"],
        signs: Float[Tensor, "stretch dim"],
        start: int = 0,
        cache: Cache = None,
    ) -> Hidden:
        """The hidden states of tokens, the first of which is the one with number ``start``."""
        places = torch.arange(start, start + embedded.shape[1], device=embedded.device)
        stretches = (places // self.shape.stretch).clamp(max=vectors.shape[1] - 1)
        source = Source(vectors, real, stretches, signs[places % self.shape.stretch])
        return self._through(embedded + self.places[places], source, start, cache)

    def _through(self, hidden: Hidden, source: Source, start: int, cache: Cache) -> Hidden:
        """Normalised hidden states after all layers."""
        for layer in self.layers:
            hidden = layer(hidden, source, None, cache)
        normed: Tensor = self.norm(hidden)
        return normed
