"""What a step of the nugget recipe minimises: reconstruction, translation, and the contrast of MaxSim."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Int32
from torch import Tensor
from torch.nn import functional

from models.backbones import Backbone
from research.nugget_lm.nugget import NuggetDecoder
from research.training.loop import Losses
from research.training.nugget_config import NuggetConfig
from research.training.nugget_losses import contrastive_loss, maxsim_scores, own_scale, segment_loss
from research.training.nugget_reading import Reader, ReadNuggets

Window = Int32[np.ndarray, " _tokens"]
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class NuggetStep:
    """The windows of a step: documents, those that say the same, those to be decoded, and what from each."""

    sources: list[Window]
    targets: list[Window]
    noised: list[Window]
    ratio: float

    @property
    def windows(self) -> list[Window]:
        """All that is read, in this order."""
        return self.sources + self.targets + self.noised


def nugget_losses(
    reader: Reader,
    decoder: NuggetDecoder,
    spread: Float[Tensor, "dim dim"],
    step: NuggetStep,
    config: NuggetConfig,
    rng: np.random.Generator,
) -> Losses:
    """All losses of one step, weighted, by name. ``spread`` is the projection that training began with."""
    noise = config.noise if config.selector == "learned" else 0.0
    read = reader.read(step.windows, step.ratio, noise, rng)
    many = len(step.sources)
    weights, losses = config.weights, dict[str, Float[Tensor, ""]]()
    if weights.contrastive:
        losses["contrastive"] = weights.contrastive * contrast(read, many, config.temperature)
    if weights.segments:
        losses["segments"] = weights.segments * segment_loss(read.vectors, read.real, read.segments @ spread.T)
    if weights.boundaries:
        losses["boundaries"] = weights.boundaries * read.boundary_loss
    if weights.auto_encoding:
        # Without deletion the documents themselves are what is read.
        rows = range(2 * many, len(step.windows)) if step.noised else range(min(config.decoded, many))
        wanted = step.sources[: len(rows)]
        loss = decoding_loss(reader.backbone, decoder, read.rows(list(rows)), wanted, config.target_tokens)
        losses["auto_encoding"] = weights.auto_encoding * loss
    if weights.translation:
        rows = range(min(config.decoded, many))
        wanted = [step.targets[row] for row in rows]
        loss = decoding_loss(reader.backbone, decoder, read.rows(list(rows)), wanted, config.target_tokens)
        losses["translation"] = weights.translation * loss
    return losses


def contrast(read: ReadNuggets, many: int, temperature: float) -> Float[Tensor, ""]:
    """Each of the first ``many`` documents asks which of all says the same, and each that does asks in turn.

    The document itself is no candidate; all the others are.
    """
    vectors, scores, real = own_scale(read.vectors[: 2 * many]), read.scores[: 2 * many], read.real[: 2 * many]
    found = maxsim_scores(vectors, real, vectors, real, scores, scores)
    itself = torch.eye(2 * many, dtype=torch.bool, device=found.device)
    own = torch.arange(2 * many, device=found.device).roll(many)
    return contrastive_loss(found.masked_fill(itself, -torch.inf), own, temperature)


def decoding_loss(
    backbone: Backbone, decoder: NuggetDecoder, read: ReadNuggets, wanted: Sequence[Window], most: int
) -> Float[Tensor, ""]:
    """Negative log likelihood of texts given nuggets, a token (section 3.4), of at most so many tokens a text."""
    given, following = targets_of(backbone, [window[:most] for window in wanted])
    logits = decode(backbone, decoder, read, given)
    return functional.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=_IGNORED)


def decode(
    backbone: Backbone, decoder: NuggetDecoder, read: ReadNuggets, given: Int[Tensor, "texts target"]
) -> Float[Tensor, "texts target vocabulary"]:
    """What the decoder makes likely after every token that is given, by the backbone's own word embeddings."""
    words = backbone.word_embeddings
    with backbone.precision():
        states = decoder(words[given], read.vectors, read.scores, read.real)
        return (states @ words.T).float()


def targets_of(
    backbone: Backbone, windows: Sequence[Window]
) -> tuple[Int[Tensor, "texts target"], Int[Tensor, "texts target"]]:
    """What a decoder is given, and what it is to say next; a text begins and ends with the special tokens."""
    ids, mask = backbone.pad(windows)
    following = ids.masked_fill(~mask, _IGNORED)[:, 1:]
    return ids[:, :-1].to(backbone.device), following.to(backbone.device)
