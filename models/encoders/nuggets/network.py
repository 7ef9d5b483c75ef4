"""The network behind nuggets: a scorer on hidden states of layer l, feedback, upper layers of its own, a projection.

A nugget is computed from the vector of its own token (``token``, eq. 4), or from the mean over its segment
(``segment``): from after the previous nugget to the nugget itself.

Its input comes from the frozen layers below, which belong to the encoder that shares the forward pass.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int32
from torch import Tensor, nn

from models.artifacts import Artifact
from models.backbones.layers import LayerInput, inputs_of, layers_of
from models.backbones.torch_network import Backbone
from models.encoders.nuggets.base import Nuggets, ReadWindow
from models.encoders.nuggets.parts import Gather, check_layer
from models.encoders.nuggets.selectors import Selector
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch
from models.ops.segment_means import segment_means
from models.ops.similarity import normalize


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
        scores = self.scorer(given.hidden).squeeze(-1)
        positions, real = _padded(self._chosen(scores, begin, lengths, select), scores.device)
        hidden = given.hidden + self._types(positions, real, scores) if self.feedback else given.hidden
        last = given.through(list(self.layers), hidden)
        rows = torch.arange(len(last), device=last.device)[:, None]
        gathered = last[rows, positions]
        if self.gather == "segment":
            gathered = segment_means(last.float(), positions, real, begin)
        return Selected(self.value(gathered), scores[rows, positions], positions, real, scores)

    def _chosen(
        self, scores: Float[Tensor, "windows padded"], begin: int, lengths: Sequence[int], select: Selector
    ) -> list[Int[np.ndarray, " _nuggets"]]:
        rows = scores.detach().float().cpu().numpy()
        chosen = [select(row, rows[row, begin : begin + length]) for row, length in enumerate(lengths)]
        if self.gather == "segment":
            # The last nugget moves to the end, so that every token belongs to a segment.
            chosen = [
                np.append(positions[:-1], length - 1)[: len(positions)]
                for positions, length in zip(chosen, lengths, strict=True)
            ]
        return [begin + positions for positions in chosen]

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
    return torch.from_numpy(positions).to(device), torch.from_numpy(real).to(device)


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


def read_batch(
    base: SliceEncoder,
    network: NuggetNetwork,
    layer: int,
    select: Selector,
    batch: Sequence[Int32[np.ndarray, " _tokens"]],
) -> list[ReadWindow]:
    """Run one batch through the encoder's layers and, from ``layer`` on, through the nuggets' layers."""
    backbone = base.backbone
    with inputs_of(layers_of(backbone.model)[layer]) as seen:
        (vectors,) = base.forward([batch])
    lengths = [len(window) for window in batch]
    with torch.inference_mode(), backbone.precision():
        selected = network(seen[0], backbone.begin, lengths, select)
    return list(zip(vectors, unpadded(selected, backbone.begin), strict=True))


def unpadded(selected: Selected, begin: int) -> list[Nuggets]:
    """The nuggets of every window, of unit length."""
    vectors, scores = selected.vectors.float().cpu().numpy(), selected.scores.float().cpu().numpy()
    positions, real = selected.positions.cpu().numpy() - begin, selected.real.cpu().numpy()
    return [
        Nuggets(normalize(vectors[row][mask]).astype(np.float32), positions[row][mask], scores[row][mask])
        for row, mask in enumerate(real)
    ]
