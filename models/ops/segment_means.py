"""The means of nuggets' segments, as a differentiable function of padded tensors."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional


def segment_means(
    states: Float[Tensor, "windows padded dim"],
    positions: Int[Tensor, "windows nuggets"],
    real: Bool[Tensor, "windows nuggets"],
    begin: int,
) -> Float[Tensor, "windows nuggets dim"]:
    """The mean state of every nugget's segment: from after the previous nugget to the nugget itself.

    ``positions`` ascend in their rows; windows begin at position ``begin``.

    >>> states = torch.tensor([[[0.0], [1.0], [3.0], [5.0]]])
    >>> segment_means(states, torch.tensor([[2, 3]]), torch.ones(1, 2, dtype=torch.bool), 1).tolist()
    [[[2.0], [5.0]]]
    """
    prefix = functional.pad(states.cumsum(dim=1), (0, 0, 1, 0))
    starts = torch.cat([torch.full_like(positions[:, :1], begin), positions[:, :-1] + 1], dim=1)
    rows = torch.arange(len(states), device=states.device)[:, None]
    starts, ends = (place.masked_fill(~real, 0) for place in (starts, positions + 1))
    return (prefix[rows, ends] - prefix[rows, starts]) / (ends - starts).clamp_min(1)[..., None]
