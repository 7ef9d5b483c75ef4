"""A projection to fewer dimensions under which spans stay as alike as they were."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

_STEPS = 1_500
_BATCH = 384
_RATE = 2e-3
# How much more pairs count that are alike: they are what a search has to tell apart.
_ALIKE = 4.0


def fit_projection(
    vectors: Float[Tensor, "spans dim"], begin: Float[Tensor, "dim narrow"], seed: int, steps: int = _STEPS
) -> Float[Tensor, "dim narrow"]:
    """Fit a projection to vectors of spans that do not change any more, from the one where training left off.

    It minimises the mean square difference between the cosines of random pairs before and after. The rate falls
    linearly to zero. A seed gives the same projection.

    >>> spans = torch.tensor([[1.0, 0.0, 0.1], [0.0, 1.0, 0.1], [1.0, 1.0, 0.1]])
    >>> narrow = fit_projection(spans, torch.tensor([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]]), seed=1)
    >>> wide_cosines, cosines = cosines_of(spans), cosines_of(spans @ narrow)
    >>> bool((wide_cosines - cosines).abs().max() < 0.02)
    True
    """
    generator = torch.Generator().manual_seed(seed)
    vectors = functional.normalize(vectors, dim=-1)
    projection = torch.nn.Parameter(begin.detach().clone())
    optimizer = torch.optim.Adam([projection], lr=_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1e-6, total_iters=steps)
    for _ in range(steps):
        batch = vectors[torch.randint(len(vectors), (min(_BATCH, len(vectors)),), generator=generator)]
        wanted = cosines_of(batch)
        errors = cosines_of(batch @ projection) - wanted
        loss = (errors.square() * (1 + _ALIKE * wanted.clamp_min(0))).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    return projection.detach()


def cosines_of(vectors: Float[Tensor, "spans dim"]) -> Float[Tensor, "spans spans"]:
    """The cosine of every vector with every other."""
    unit = functional.normalize(vectors, dim=-1)
    return unit @ unit.T
