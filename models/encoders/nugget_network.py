"""The network behind nuggets: a scorer on hidden states of layer l, feedback, upper layers of its own, a projection.

A nugget is made of the vector of its own token (``token``, eq. 4), or of the mean over its segment (``segment``): from
behind the nugget before it to the nugget itself.

What it reads was computed by the frozen layers below, which belong to the encoder that shares the forward pass.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from models.errors import InvalidInput
from models.layers import LayerInput
from models.ops.segment_means import segment_means

# What the network gathers in a nugget.
Gather: TypeAlias = Literal["token", "segment"]
GATHERS: tuple[Gather, ...] = ("token", "segment")

# From a window's scores to the positions of its nuggets, given which window of the batch it is.
Selector = Callable[[int, Float[np.ndarray, " tokens"]], Int[np.ndarray, " nuggets"]]


@dataclass(frozen=True, slots=True)
class Selected:
    """The nuggets of a batch, padded: vectors (Z of eq. 4), scores, positions in the padded row, and what is real.

    ``all_scores`` are those of every token, chosen or not.
    """

    vectors: Float[Tensor, "windows nuggets dim"]
    scores: Float[Tensor, "windows nuggets"]
    positions: Int[Tensor, "windows nuggets"]
    real: Bool[Tensor, "windows nuggets"]
    all_scores: Float[Tensor, "windows padded"]


class NuggetNetwork(nn.Module):
    """Scorer (eq. 7), type embeddings (eq. 8), upper layers and value projection (eq. 4).

    It begins as the network it is made of: the type embeddings are zero, the projection changes nothing, and only
    the scorer is random.
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
        """The nuggets of a batch of windows, of so many tokens each, that begin at ``begin`` of their rows."""
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
            # The last one moves to the end, so that every token has a nugget which stands for it.
            chosen = [
                np.append(found[:-1], length - 1)[: len(found)] for found, length in zip(chosen, lengths, strict=True)
            ]
        return [begin + found for found in chosen]

    def _types(
        self, positions: Int[Tensor, "windows nuggets"], real: Bool[Tensor, "windows nuggets"], like: Tensor
    ) -> Float[Tensor, "windows padded dim"]:
        """Which of the two type embeddings every token gets: that of nuggets, or of others."""
        kinds = torch.zeros(like.shape, dtype=torch.long, device=like.device)
        kinds.scatter_reduce_(1, positions, real.long(), "amax")
        return self.types[kinds]


def gather_named(name: str) -> Gather:
    """A way to gather nuggets by its name. Raises ``InvalidInput`` where there is none of this name.

    >>> gather_named("segment")
    'segment'
    """
    if name not in GATHERS:
        raise InvalidInput(
            f"Nuggets cannot be gathered by {name!r}.",
            hint=f"They are gathered by: {', '.join(GATHERS)}.",
            field="gather",
        )
    return name


def _padded(
    chosen: Sequence[Int[np.ndarray, " _nuggets"]], device: torch.device
) -> tuple[Int[Tensor, "windows nuggets"], Bool[Tensor, "windows nuggets"]]:
    counts = np.array([len(row) for row in chosen])
    real = np.arange(max(1, counts.max(initial=0))) < counts[:, None]
    positions = np.zeros(real.shape, np.int64)
    positions[real] = np.concatenate([np.zeros(0, np.int64), *chosen])
    return torch.from_numpy(positions).to(device), torch.from_numpy(real).to(device)
