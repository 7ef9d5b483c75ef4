"""The network of facets: a small transformer from word vectors to K codebook vectors (section 2.3 of the paper).

Training runs this one; ``spanseek_facets.forward`` gives the same numbers without torch.
"""

from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from models.artifacts import arrays_of
from spanseek_facets.forward import MOST_WORDS, FacetShape
from spanseek_facets.model import FacetModel
from spanseek_facets.readers import Reader
from spanseek_facets.word_vectors import WordVectors

_RIDGE = 1e-2
Layer = TypeVar("Layer", nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


def facet_model(network: "FacetNetwork", words: WordVectors, reader: Reader | None = None) -> FacetModel:
    """The model of a network in training, as it stands."""
    return FacetModel(arrays_of(network.state_dict()), network.shape, words, reader=reader)


class FacetNetwork(nn.Module):
    """Vectors of words, or of the tokens of a frozen encoder, to codebook vectors.

    Tokens of a frozen encoder are normalised and mapped into the space of words; their mean is the hidden state of the
    end mark, and no layer reads them again unless the shape says so. The hidden state of an end mark goes through one
    linear layer for each facet into a transformer decoder. Layers normalise their inputs, and attention to the words
    begins as a plain mean of them, so that facets begin near the words of the text and not at random.
    """

    def __init__(self, shape: FacetShape) -> None:
        super().__init__()
        self.shape = shape
        self.end = nn.Parameter(torch.randn(shape.dim))
        if shape.encoder == "small":
            self.positions = nn.Parameter(torch.randn(MOST_WORDS, shape.dim) * 0.1)
        else:
            self.read_norm = nn.LayerNorm(shape.read_dim)
            self.read = nn.Linear(shape.read_dim, shape.dim)
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
        self, vectors: Float[Tensor, "texts words _read"], mask: Bool[Tensor, "texts words"]
    ) -> Float[Tensor, "texts facets dim"]:
        """The codebook vectors of texts, whose real words ``mask`` names; a text may have none."""
        words, ends = self._inputs(vectors, mask)
        padding = torch.cat([mask.new_zeros(len(mask), 1), ~mask], dim=1)
        memory = torch.cat([ends, words], dim=1)
        if self.shape.encoder_layers:
            memory = self.encoder(memory, src_key_padding_mask=padding)
        facets = torch.stack([start(memory[:, 0]) for start in self.starts], dim=1)
        for layer in self.decoder:
            facets = layer(facets, memory, memory_key_padding_mask=padding) if self.shape.attention else layer(facets)
        codebook: Tensor = self.out(self.norm(facets))
        return codebook

    def _inputs(
        self, vectors: Float[Tensor, "texts words _read"], mask: Bool[Tensor, "texts words"]
    ) -> tuple[Float[Tensor, "texts words dim"], Float[Tensor, "texts 1 dim"]]:
        """Inputs of the encoder: words, and end marks."""
        ends = self.end.expand(len(vectors), 1, -1)
        if self.shape.encoder == "small":
            return vectors * self.shape.dim**0.5 + self.positions[: vectors.shape[1]], ends
        words = self.read(self.read_norm(vectors))
        sums = (words * mask[..., None]).sum(dim=1, keepdim=True)
        return words, ends + sums / mask.sum(dim=1).clamp(min=1)[:, None, None]

    @torch.no_grad()
    def begin_reading(self, read: Float[Tensor, "words read"], words: Float[Tensor, "words dim"]) -> None:
        """Map a frozen encoder's vectors of words to those of the space, by ridge regression: where training begins."""
        inputs = torch.nn.functional.pad(self.read_norm(read), (0, 1), value=1.0).double()
        gram = inputs.T @ inputs + _RIDGE * len(inputs) * torch.eye(inputs.shape[1], dtype=torch.float64)
        weights = torch.linalg.solve(gram, inputs.T @ words.double() * self.shape.dim**0.5).float()
        self.read.weight.copy_(weights[:-1].T)
        self.read.bias.copy_(weights[-1])
