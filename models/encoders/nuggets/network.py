"""The network behind nuggets: a scorer on hidden states of layer l, feedback, upper layers of its own, a projection.

A nugget is computed from the vector of its own token (``token``, eq. 4), or from the mean over its segment
(``segment``): from after the previous nugget to the nugget itself.

Its input comes from the frozen layers below, which belong to the encoder that shares the forward pass.
"""

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int, Int32
from torch import Tensor, nn

from models.artifacts import Artifact
from models.backbones.devices import Fetched, ahead, in_halves, send
from models.backbones.layers import LayerInput, inputs_of, layers_of
from models.backbones.torch_network import Backbone, Launched, unpadded
from models.encoders.nuggets.base import Nuggets, ReadWindow
from models.encoders.nuggets.parts import Gather, check_layer
from models.encoders.nuggets.selectors import Selector, Selectors
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch
from models.ops.segment_means import segment_means
from models.ops.similarity import normalize

Batch: TypeAlias = Sequence[Int32[np.ndarray, " _tokens"]]


@dataclass(frozen=True, slots=True)
class Selected:
    """The nuggets of a batch, padded: vectors (Z of eq. 4), scores, positions in the padded row, mask of real ones.

    ``all_scores`` are the scores of all tokens.
    """

    vectors: Float[Tensor, "windows nuggets dim"]
    scores: Float[Tensor, "windows nuggets"]
    positions: Int[Tensor, "windows nuggets"]
    real: Bool[Tensor, "windows nuggets"]
    all_scores: Float[Tensor, "windows padded"]


class NuggetNetwork(nn.Module):
    """Scorer (eq. 7), type embeddings (eq. 8), upper layers and value projection (eq. 4).

    Before training it computes what its layers compute: the type embeddings are zero, the projection is the identity,
    and only the scorer is random.
    """

    def __init__(
        self,
        upper: Sequence[nn.Module],
        dim: int,
        *,
        feedback: bool = True,
        gather: Gather = "token",
        seed: int = 13,
    ) -> None:
        super().__init__()
        self.feedback = feedback
        self.gather = gather
        self.layers = nn.ModuleList(copy.deepcopy(layer) for layer in upper)
        self.scorer = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, 1))
        if feedback:
            self.types = nn.Parameter(torch.zeros(2, dim))
        self.value = nn.Linear(dim, dim, bias=False)
        self.requires_grad_(True)  # the layers were copied from frozen ones
        with torch.no_grad():
            self.value.weight.copy_(torch.eye(dim))
            generator = torch.Generator().manual_seed(seed)
            for linear in (module for module in self.scorer if isinstance(module, nn.Linear)):
                linear.weight.normal_(0, 1 / math.sqrt(dim), generator=generator)
                linear.bias.zero_()

    def forward(self, given: LayerInput, begin: int, lengths: Sequence[int], select: Selector) -> Selected:
        """The nuggets of a batch of windows of these lengths, which begin at ``begin`` in their rows."""
        scores = self.scores(given)
        chosen = self.chosen(scores.detach().float().cpu().numpy(), begin, lengths, select)
        return self.gathered(given, scores, begin, chosen)

    def scores(self, given: LayerInput) -> Float[Tensor, "windows padded"]:
        """The score of every token."""
        scores: Tensor = self.scorer(given.hidden).squeeze(-1)
        return scores

    def chosen(
        self, scores: Float32[np.ndarray, "windows padded"], begin: int, lengths: Sequence[int], select: Selector
    ) -> list[Int[np.ndarray, " _nuggets"]]:
        """The tokens that become nuggets of every window, counted from its first."""
        chosen = [select(number, row) for number, row in enumerate(unpadded(scores, begin, lengths))]
        if self.gather == "segment":
            # The last nugget moves to the end, so that every token belongs to a segment.
            chosen = [
                np.append(tokens[:-1], length - 1)[: len(tokens)]
                for tokens, length in zip(chosen, lengths, strict=True)
            ]
        return chosen

    def gathered(
        self,
        given: LayerInput,
        scores: Float[Tensor, "windows padded"],
        begin: int,
        chosen: Sequence[Int[np.ndarray, " _nuggets"]],
    ) -> Selected:
        """The nuggets at the chosen tokens of windows that begin at ``begin`` in their rows."""
        positions, real = _padded([begin + tokens for tokens in chosen], scores.device)
        hidden = given.hidden + self._types(positions, real, scores) if self.feedback else given.hidden
        last = given.through(list(self.layers), hidden)
        rows = torch.arange(len(last), device=last.device)[:, None]
        gathered = last[rows, positions]
        if self.gather == "segment":
            gathered = segment_means(last.float(), positions, real, begin)
        return Selected(self.value(gathered), scores[rows, positions], positions, real, scores)

    def _types(
        self, positions: Int[Tensor, "windows nuggets"], real: Bool[Tensor, "windows nuggets"], like: Tensor
    ) -> Float[Tensor, "windows padded dim"]:
        """The type embedding of every token: one for nuggets, one for other tokens."""
        kinds = torch.zeros(like.shape, dtype=torch.long, device=like.device)
        kinds.scatter_reduce_(1, positions, real.long(), "amax")
        return self.types[kinds]


def _padded(
    chosen: Sequence[Int[np.ndarray, " _nuggets"]], device: torch.device
) -> tuple[Int[Tensor, "windows nuggets"], Bool[Tensor, "windows nuggets"]]:
    counts = np.array([len(row) for row in chosen])
    real = np.arange(max(1, counts.max(initial=0))) < counts[:, None]
    positions = np.zeros(real.shape, np.int64)
    positions[real] = np.concatenate([np.zeros(0, np.int64), *chosen])
    return send(torch.from_numpy(positions), device), send(torch.from_numpy(real), device)


def start_network(backbone: Backbone, layer: int, *, feedback: bool = True, gather: Gather = "token") -> NuggetNetwork:
    """The network before training, with the backbone's upper layers. Raises ``BackboneMismatch``."""
    check_layer(backbone, layer)
    layers = layers_of(backbone.model)
    return NuggetNetwork(list(layers[layer:]), backbone.dim, feedback=feedback, gather=gather)


def put_in_place(network: nn.Module, artifact: Artifact) -> None:
    """Load trained parameters. Raises ``BackboneMismatch`` if their names or shapes differ."""
    parameters = dict(network.named_parameters())
    tensors = artifact.tensors
    fits = parameters.keys() == tensors.keys() and all(
        parameters[name].shape == tensor.shape for name, tensor in tensors.items()
    )
    if not fits:
        raise BackboneMismatch(
            "These nugget weights do not fit the upper layers of this backbone.",
            hint="They were made for another architecture: train nugget weights for this one.",
        )
    with torch.no_grad():
        for name, tensor in tensors.items():
            parameters[name].copy_(tensor)


@dataclass(frozen=True, slots=True)
class _Scored:
    """A batch whose token vectors and scores are under way, and the input of the nuggets' layers."""

    batch: Batch
    units: Launched
    given: LayerInput
    scores: Float[Tensor, "windows padded"]
    fetched: Fetched


@dataclass(frozen=True, slots=True)
class _Gathered:
    """A batch whose token vectors and nuggets are under way."""

    units: Launched
    nuggets: tuple[Fetched, Fetched, Fetched, Fetched]


@dataclass(frozen=True, slots=True)
class NuggetReader:
    """Runs batches through the encoder's layers and, from ``layer`` on, through the nuggets' layers.

    The host chooses nuggets by their scores. On a GPU the next batch is launched before it waits for those of one.
    """

    base: SliceEncoder
    network: NuggetNetwork
    layer: int
    selectors: Selectors
    ratio: float

    def read(self, batches: Iterable[Batch]) -> Iterator[list[ReadWindow]]:
        """The token vectors and the nuggets of every window of every batch."""
        count = self.base.backbone.in_flight
        scored = ahead((in_halves(self._score, batch) for batch in batches), count)
        gathered = ahead(([each for part in parts for each in self._gather(part)] for parts in scored), count)
        for parts in gathered:
            yield [read for part in parts for read in self._arrived(part)]

    @torch.inference_mode()
    def _score(self, batch: Batch) -> _Scored:
        backbone = self.base.backbone
        with inputs_of(layers_of(backbone.model)[self.layer]) as seen:
            units = backbone.launch(batch)
        with backbone.precision():
            scores = self.network.scores(seen[0])
        return _Scored(batch, units, seen[0], scores, Fetched(scores.float()))

    def _gather(self, scored: _Scored) -> list[_Gathered]:
        try:
            return [self._launch(scored)]
        except torch.OutOfMemoryError:
            batch = scored.batch
        del scored
        return in_halves(lambda part: self._launch(self._score(part)), batch)

    @torch.inference_mode()
    def _launch(self, scored: _Scored) -> _Gathered:
        backbone, units = self.base.backbone, scored.units
        select = self.selectors.of(scored.batch, self.ratio)
        chosen = self.network.chosen(scored.fetched.array(), units.begin, units.lengths, select)
        with backbone.precision():
            made = self.network.gathered(scored.given, scored.scores, units.begin, chosen)
        columns = made.vectors.float(), made.scores.float(), made.positions, made.real
        return _Gathered(units, (Fetched(columns[0]), Fetched(columns[1]), Fetched(columns[2]), Fetched(columns[3])))

    def _arrived(self, part: _Gathered) -> list[ReadWindow]:
        units = self.base.projected(part.units.vectors())
        vectors, scores, positions, real = (column.array() for column in part.nuggets)
        tokens = positions - part.units.begin
        nuggets = [
            Nuggets(normalize(vectors[row][mask]).astype(np.float32), tokens[row][mask], scores[row][mask])
            for row, mask in enumerate(real)
        ]
        return list(zip(units, nuggets, strict=True))
