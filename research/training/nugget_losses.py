"""Losses that nuggets learn from, as functions of tensors.

The forward values are those of the search (eq. 10); scores take part in them with a value of nothing and a gradient,
which is how the scorer learns from a choice that has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int32
from torch import Tensor
from torch.nn import functional

from models.backbones.torch_network import Backbone
from research.nugget_lm.nugget import NuggetDecoder
from research.training.config import NuggetConfig
from research.training.loop import Losses
from research.training.nugget_data import Reader, ReadNuggets

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
        targets = step.sources[: len(rows)]
        loss = decoding_loss(reader.backbone, decoder, read.rows(list(rows)), targets, config.target_tokens)
        losses["auto_encoding"] = weights.auto_encoding * loss
    if weights.translation:
        rows = range(min(config.decoded, many))
        targets = [step.targets[row] for row in rows]
        loss = decoding_loss(reader.backbone, decoder, read.rows(list(rows)), targets, config.target_tokens)
        losses["translation"] = weights.translation * loss
    return losses


def contrast(read: ReadNuggets, many: int, temperature: float) -> Float[Tensor, ""]:
    """Each of the first ``many`` documents asks which of all says the same, and each that does asks in turn.

    The document itself is no candidate; all the others are.
    """
    vectors, scores, real = own_scale(read.vectors[: 2 * many]), read.scores[: 2 * many], read.real[: 2 * many]
    similarities = maxsim_scores(vectors, real, vectors, real, scores, scores)
    itself = torch.eye(2 * many, dtype=torch.bool, device=similarities.device)
    own = torch.arange(2 * many, device=similarities.device).roll(many)
    return contrastive_loss(similarities.masked_fill(itself, -torch.inf), own, temperature)


def decoding_loss(
    backbone: Backbone, decoder: NuggetDecoder, read: ReadNuggets, targets: Sequence[Window], most: int
) -> Float[Tensor, ""]:
    """Negative log likelihood of texts given nuggets, a token (section 3.4), of at most so many tokens a text."""
    given, following = targets_of(backbone, [window[:most] for window in targets])
    logits = decode(backbone, decoder, read, given)
    return functional.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=_IGNORED)


def decode(
    backbone: Backbone, decoder: NuggetDecoder, read: ReadNuggets, given: Int[Tensor, "texts target"]
) -> Float[Tensor, "texts target vocabulary"]:
    """Logits of the decoder for what follows every token that is given, by the backbone's own word embeddings."""
    words = backbone.word_embeddings
    with backbone.precision():
        states = decoder(words[given], read.vectors, read.scores, read.real)
        return (states @ words.T).float()


def targets_of(
    backbone: Backbone, windows: Sequence[Window]
) -> tuple[Int[Tensor, "texts target"], Int[Tensor, "texts target"]]:
    """Tokens that a decoder is given, and those to say next; a text begins and ends with the special tokens."""
    ids, mask = backbone.pad(windows)
    following = ids.masked_fill(~mask, _IGNORED)[:, 1:]
    return ids[:, :-1].to(backbone.device), following.to(backbone.device)


# How strongly the contrast pulls at scores. They decide by their order alone, so that a gentle pull does.
_GENTLY = 0.05


def own_scale(
    vectors: Float[Tensor, "windows nuggets dim"],
) -> Float[Tensor, "windows nuggets dim"]:
    """Vectors of length 1.

    >>> own_scale(torch.tensor([[[3.0, 4.0]]])).round(decimals=1)
    tensor([[[0.6000, 0.8000]]])
    """
    return functional.normalize(vectors, dim=-1)


def maxsim_scores(
    queries: Float[Tensor, "queries nuggets dim"],
    query_real: Bool[Tensor, "queries nuggets"],
    documents: Float[Tensor, "documents others dim"],
    document_real: Bool[Tensor, "documents others"],
    query_scores: Float[Tensor, "queries nuggets"] | None = None,
    document_scores: Float[Tensor, "documents others"] | None = None,
) -> Float[Tensor, "queries documents"]:
    """MaxSim (eq. 10) of every query with every document; vectors have length 1.

    Given the scorer's scores, a query nugget whose match is better than the others' has its score raised where the
    whole should be higher, and a document nugget that is matched has, too.

    >>> one = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> everything = torch.ones(1, 2, dtype=torch.bool)
    >>> maxsim_scores(one, everything, one[:, :1], everything[:, :1])
    tensor([[0.5000]])
    """
    cosines = torch.einsum("qnd,mod->qmno", queries, documents)
    if document_scores is not None:
        cosines = cosines + _GENTLY * gradient_only(document_scores)[None, :, None, :]
    best = cosines.masked_fill(~document_real[None, :, None, :], -torch.inf).amax(dim=-1)
    shares = query_shares(query_real, query_scores)
    return (best.masked_fill(~query_real[:, None, :], 0) * shares[:, None, :]).sum(dim=-1)


def query_shares(
    real: Bool[Tensor, "queries nuggets"], scores: Float[Tensor, "queries nuggets"] | None
) -> Float[Tensor, "queries nuggets"]:
    """Weight of each nugget of a query: all the same, with the gradient that a softmax of the scores would have.

    >>> query_shares(torch.tensor([[True, True, False]]), None)
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    level = torch.zeros(real.shape, device=real.device) if scores is None else _GENTLY * gradient_only(scores)
    return level.masked_fill(~real, -torch.inf).softmax(dim=-1)


def gradient_only(scores: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Zeros that pass their gradient on to the scores."""
    return scores - scores.detach()


def contrastive_loss(
    scores: Float[Tensor, "queries documents"], own: Int[Tensor, " queries"], temperature: float
) -> Float[Tensor, ""]:
    """Cross-entropy of choosing, for every query, its own document among all.

    A score of ``-inf`` leaves a document out.

    >>> contrastive_loss(torch.tensor([[0.9, 0.1]]), torch.tensor([0]), 0.05).round(decimals=4)
    tensor(0.)
    """
    return functional.cross_entropy(scores / temperature, own)


def segment_loss(
    vectors: Float[Tensor, "windows nuggets dim"],
    real: Bool[Tensor, "windows nuggets"],
    segments: Float[Tensor, "windows nuggets dim"],
) -> Float[Tensor, ""]:
    """One minus the mean cosine of nuggets with the meanings of the segments they stand for.

    >>> segment_loss(torch.ones(1, 1, 2), torch.ones(1, 1, dtype=torch.bool), torch.ones(1, 1, 2)).round(decimals=4)
    tensor(0.)
    """
    return 1 - functional.cosine_similarity(vectors, segments, dim=-1)[real].mean()
