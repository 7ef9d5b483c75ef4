"""The network of facets: a small transformer from word vectors to K codebook vectors (section 2.3 of the paper).

Training runs this one; ``forward.py`` gives the same numbers without torch.
"""

from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from models.encoders.facets.shape import MOST_WORDS, FacetShape

Layer = TypeVar("Layer", nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


class FacetNetwork(nn.Module):
    """Word vectors of texts to codebook vectors.

    The hidden state of an end mark goes through one linear layer for each facet into a transformer decoder. Layers
    normalise their inputs, and attention to the words begins as a plain mean of them, so that facets begin near the
    words of the text and not at random.
    """

    def __init__(self, shape: FacetShape) -> None:
        super().__init__()
        self.shape = shape
        self.end = nn.Parameter(torch.randn(shape.dim))
        self.positions = nn.Parameter(torch.randn(MOST_WORDS, shape.dim) * 0.1)
        self.encoder = nn.TransformerEncoder(
            self._layer(nn.TransformerEncoderLayer), shape.encoder_layers, enable_nested_tensor=False
        )
        self.starts = nn.ModuleList(nn.Linear(shape.dim, shape.dim) for _ in range(shape.facets))
        self.decoder = nn.ModuleList(
            self._layer(nn.TransformerDecoderLayer) if shape.attention else self._layer(nn.TransformerEncoderLayer)
            for _ in range(shape.decoder_layers)
        )
        self.norm = nn.LayerNorm(shape.dim)
        self.out = nn.Linear(shape.dim, shape.dim)
        self._begin_with_words()

    def _layer(self, kind: type[Layer]) -> Layer:
        shape = self.shape
        return kind(
            shape.dim, shape.heads, shape.hidden, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )

    @torch.no_grad()
    def _begin_with_words(self) -> None:
        self.out.weight.copy_(torch.eye(self.shape.dim) / self.shape.dim**0.5)
        for layer in self.decoder:
            if isinstance(layer, nn.TransformerDecoderLayer):
                layer.multihead_attn.in_proj_weight[-self.shape.dim :].copy_(torch.eye(self.shape.dim))
                layer.multihead_attn.out_proj.weight.copy_(torch.eye(self.shape.dim))

    def forward(
        self, vectors: Float[Tensor, "texts words dim"], mask: Bool[Tensor, "texts words"]
    ) -> Float[Tensor, "texts facets dim"]:
        """The codebook vectors of texts, whose real words ``mask`` names; a text may have none."""
        words = vectors * self.shape.dim**0.5 + self.positions[: vectors.shape[1]]
        ends = self.end.expand(len(vectors), 1, -1)
        padding = torch.cat([mask.new_zeros(len(mask), 1), ~mask], dim=1)
        memory = self.encoder(torch.cat([ends, words], dim=1), src_key_padding_mask=padding)
        facets = torch.stack([start(memory[:, 0]) for start in self.starts], dim=1)
        for layer in self.decoder:
            facets = layer(facets, memory, memory_key_padding_mask=padding) if self.shape.attention else layer(facets)
        codebook: Tensor = self.out(self.norm(facets))
        return codebook
