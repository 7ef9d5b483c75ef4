"""The nugget language model: the decoder reads what stands for earlier segments by cross-attention (section 6.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from models.artifacts import Artifact
from models.backbones.torch_network import Backbone
from models.encoders.nuggets.base import NuggetEncoder
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch, InvalidInput
from research.nugget_lm.adaptive_softmax import AdaptiveSoftmax
from research.nugget_lm.histories import Kind, Read
from research.nugget_lm.nugget import NuggetDecoder, waves

RECIPE = "nugget-lm.v3"
ORDER = "order"  # the artifact's tensor that is no parameter: ids of words, the most frequent first
_TINY_INIT = 0.02


@dataclass(frozen=True, slots=True)
class LmShape:
    """Width and depth of the decoder, length of a segment, and the number of segments back that it may look.

    With ``places`` it receives the position of every nugget in the text to reconstruct. Auto-encoding needs it; a model
    that reads earlier segments does better without.
    """

    width: int = 256
    layers: int = 2
    heads: int = 8
    segment: int = 64
    history: int = 8
    places: bool = False


class NuggetLanguageModel(nn.Module):
    """Word embeddings in, probabilities of the next word out; neither is learnt, but for how frequent words are.

    A vector of no segment is always there to be looked at, so that attention may find nothing; the age of a vector is
    how many segments ago it was read, where 0 is the text itself, which auto-encoding says again.
    """

    def __init__(
        self,
        words: Float[Tensor, "vocabulary dim"],
        dim: int,
        predict: AdaptiveSoftmax,
        shape: LmShape,
        seed: int = 13,
    ) -> None:
        super().__init__()
        self.shape = shape
        self.words = words.detach()
        self.predict = predict
        self.decoder = NuggetDecoder(shape.width, shape.heads, shape.layers, shape.segment, seed)
        self.enter = nn.Linear(self.words.shape[1], shape.width)
        entry = nn.Linear(dim, shape.width)
        self.read = nn.Sequential(entry, nn.LayerNorm(shape.width))
        self.ages = nn.Parameter(waves(shape.history + 1, shape.width))
        self.nothing = nn.Parameter(torch.zeros(shape.width))
        self.leave = nn.Linear(shape.width, self.words.shape[1])
        _initialise([self.enter, entry, self.leave], self.nothing, seed)

    def states(self, given: Int[Tensor, "texts target"], read: Read) -> Float[Tensor, "texts target dim"]:
        """States that predict, at every place, the token after it."""
        vectors = self.read(read.vectors) + self.ages[read.ages]
        if self.shape.places:
            placed = (read.ages == 0) & (read.places >= 0)
            vectors = vectors + self.decoder.positions[read.places] * placed[..., None]
        many = len(given)
        vectors = torch.cat([self.nothing.expand(many, 1, -1), vectors], dim=1)
        real = functional.pad(read.real, (1, 0), value=True)
        # Scores of a frozen scorer would say nothing that the vectors do not.
        scores = torch.zeros(real.shape, device=real.device)
        return self.leave(self.decoder(self.enter(self.words[given]), vectors, scores, real))

    def losses(
        self, given: Int[Tensor, "texts target"], following: Int[Tensor, "texts target"], read: Read
    ) -> Float[Tensor, " tokens"]:
        """Negative log likelihood of every token that follows, text by text; what is below 0 is left out."""
        real = following >= 0
        return self.predict.losses(self.states(given, read)[real], following[real])


def load_language_model(artifact: Artifact, encoder: NuggetEncoder) -> NuggetLanguageModel:
    """A trained model, for the encoder whose vectors it learnt to read; ``BackboneMismatch`` for any other."""
    if artifact.config.get("recipe") != RECIPE or artifact.config["encoder"] != encoder.fingerprint:
        raise BackboneMismatch(
            f"This model reads nuggets of {artifact.config.get('encoder')}, not of {encoder.fingerprint}.",
            hint="Set SPANSEEK_NUGGET_WEIGHTS as when it was trained, or train one for these.",
        )
    backbone = backbone_of(encoder)
    facts: dict[str, Any] = artifact.config
    order = artifact.tensors[ORDER].numpy()
    predict = AdaptiveSoftmax(backbone.word_embeddings, order, np.ones_like(order))
    dim = dim_of(encoder, facts["kinds"])
    model = NuggetLanguageModel(backbone.word_embeddings, dim, predict, LmShape(**facts["shape"]))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(artifact.tensors[name])
    return model.to(backbone.device).eval().requires_grad_(False)


def dim_of(encoder: NuggetEncoder, kinds: Sequence[Kind]) -> int:
    """The length of the vectors that are read. Raises ``InvalidInput`` where kinds differ in it."""
    dims = {kind: encoder.dim if kind == "nuggets" else encoder.base.dim for kind in kinds}
    if len(set(dims.values())) > 1:
        raise InvalidInput(
            f"One decoder cannot read vectors of different length: {dims}.",
            hint="Train one for each kind.",
            field="kind",
        )
    return dims[kinds[0]]


def backbone_of(encoder: NuggetEncoder) -> Backbone:
    """The backbone whose words are read and said. Raises ``BackboneMismatch`` for an encoder that has none."""
    if not isinstance(encoder.base, SliceEncoder):
        raise BackboneMismatch(
            f"The encoder {encoder.base.fingerprint} has no word embeddings to read and say words with.",
            hint="Use an encoder that stands on a backbone, as slice does.",
            field="encoder",
        )
    return encoder.base.backbone


def _initialise(linears: list[nn.Linear], vector: nn.Parameter, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for linear in linears:
            linear.weight.normal_(0, linear.in_features**-0.5, generator=generator)
            linear.bias.zero_()
        vector.normal_(0, _TINY_INIT, generator=generator)
        linears[-1].weight.mul_(_TINY_INIT)  # what goes out begins as frequencies
