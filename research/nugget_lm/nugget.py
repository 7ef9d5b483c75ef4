"""The decoder that reads nuggets: causal self-attention, and cross-attention with the scorer's residual (eq. 5)."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

_TINY_INIT = 0.02
_WAVE = 0.5  # beside token embeddings, which have variance 1


class NuggetDecoder(nn.Module):
    """A small pre-norm transformer decoder over given token embeddings.

    Tokens go in and come out by the backbone's frozen word embeddings, so that only attention is learnt.
    """

    def __init__(self, dim: int, heads: int, layers: int, positions: int, seed: int = 13) -> None:
        super().__init__()
        self.positions = nn.Parameter(waves(positions, dim))
        self.entry = nn.LayerNorm(dim)
        self.layers = nn.ModuleList(DecoderLayer(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.exit = nn.Linear(dim, dim)
        _initialise(self, seed)

    def forward(
        self,
        targets: Float[Tensor, "texts target dim"],
        nuggets: Float[Tensor, "texts nuggets dim"],
        scores: Float[Tensor, "texts nuggets"],
        real: Bool[Tensor, "texts nuggets"],
    ) -> Float[Tensor, "texts target dim"]:
        """States that predict, at every place of a target, the token after it; ``targets`` are embeddings."""
        hidden = self.entry(targets) + self.positions[: targets.shape[1]]
        for layer in self.layers:
            hidden = layer(hidden, nuggets, scores, real)
        return self.exit(self.norm(hidden))


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention to nuggets, feed-forward."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3))
        self.own = nn.Linear(dim, 3 * dim)
        self.own_out = nn.Linear(dim, dim)
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.cross_out = nn.Linear(dim, dim)
        self.feed = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(
        self,
        hidden: Float[Tensor, "texts target dim"],
        nuggets: Float[Tensor, "texts nuggets dim"],
        scores: Float[Tensor, "texts nuggets"],
        real: Bool[Tensor, "texts nuggets"],
    ) -> Float[Tensor, "texts target dim"]:
        """One layer."""
        first, second, third = self.norms
        query, key, value = self.own(first(hidden)).chunk(3, dim=-1)
        hidden = hidden + self.own_out(self._attend(query, key, value, None))
        bias = residual_bias(scores, real, hidden.shape[-1] // self.heads)
        attended = self._attend(self.query(second(hidden)), self.key(nuggets), self.value(nuggets), bias)
        hidden = hidden + self.cross_out(attended)
        return hidden + self.feed(third(hidden))

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Tensor:
        """Attention of all heads: causal without a bias."""
        queries, keys, values = (
            part.view(*part.shape[:2], self.heads, -1).transpose(1, 2) for part in (query, key, value)
        )
        attended = functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=bias, is_causal=bias is None
        )
        return attended.transpose(1, 2).flatten(2)


def waves(positions: int, dim: int) -> Float[Tensor, "positions dim"]:
    """Initial vectors of positions: sines and cosines, so that near ones are alike (Vaswani et al., 2017, section 3.5).

    A short training that begins with random ones ends with 7 % more perplexity (notes/nugget-language-model.md).

    >>> found = waves(64, 8)
    >>> bool(found[3] @ found[4] > found[3] @ found[9])
    True
    """
    lengths = float(positions) ** (torch.arange(0, dim, 2) / dim)
    angles = torch.arange(positions)[:, None] / lengths
    return _WAVE * torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def residual_bias(
    scores: Float[Tensor, "texts nuggets"], real: Bool[Tensor, "texts nuggets"], width: int
) -> Float[Tensor, "texts 1 1 nuggets"]:
    """Term added to the logits of cross-attention: ``s / sqrt(d)``; -inf at padding, from which nothing gets through.

    >>> residual_bias(torch.tensor([[2.0, 5.0]]), torch.tensor([[True, False]]), 4)
    tensor([[[[1., -inf]]]])
    """
    return (scores / math.sqrt(width)).masked_fill(~real, -torch.inf)[:, None, None, :]


def _initialise(module: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in sorted(module.named_parameters()):
            if parameter.dim() > 1 and name != "positions":
                parameter.normal_(0, _TINY_INIT, generator=generator)
            elif name.endswith("bias"):
                parameter.zero_()
