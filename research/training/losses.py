"""The losses of SLICE, as functions of vectors.

``best_span_cosines`` and ``paper_loss`` are section 3.1 of Orbach et al. (2023). ``distillation_loss`` teaches the
sums of unit vectors what the frozen encoder makes of the same span alone.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from models.ops.span_score import SpanScore
from models.ops.spans import enumerate_spans
from models.types import SpanBounds

SCALE = 30.0
_TINY = 1e-6


@dataclass(frozen=True, slots=True)
class DistillationWeights:
    """Weights of the parts of the self-distillation loss."""

    cosine: float = 1.0
    similarities: float = 20.0
    contrast: float = 0.1


def span_sums(units: Float[Tensor, "texts units dim"], spans: Int[Tensor, "spans 3"]) -> Float[Tensor, "spans dim"]:
    """The sum of the unit vectors of spans given as text, start and end, by prefix sums.

    >>> units = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[5.0, 5.0], [0.0, 0.0]]])
    >>> span_sums(units, torch.tensor([[0, 0, 2], [1, 0, 1]])).tolist()
    [[1.0, 2.0], [5.0, 5.0]]
    """
    prefix = functional.pad(units.cumsum(dim=1), (0, 0, 1, 0))
    return prefix[spans[:, 0], spans[:, 2]] - prefix[spans[:, 0], spans[:, 1]]


def best_span_cosines(
    queries: Float[Tensor, "queries dim"],
    units: Float[Tensor, "texts units dim"],
    counts: Int[Tensor, " texts"],
    bounds: SpanBounds,
    added: Float[Tensor, "queries lengths"] | None = None,
) -> Float[Tensor, "queries texts"]:
    """Cosine of every query with its best span of every text: ``max over x in spans(S)`` of the paper.

    ``counts`` says how many units each text has; what lies beyond is padding. The best spans are found without a
    gradient, which then flows through them alone, as it would through a maximum. A text needs at least
    ``bounds.shortest`` units. ``added`` is what the span score adds to the cosine of spans of every length, from 0: it
    counts where the best span is chosen, and in what is returned.

    >>> units = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])
    >>> query = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    >>> best_span_cosines(query, units, torch.tensor([2]), SpanBounds(1, 2)).round(decimals=4).tolist()
    [[1.0], [1.0]]
    """
    queries = functional.normalize(queries, dim=-1)
    best = _best_spans(queries.detach(), units.detach(), counts, bounds, added)
    texts = torch.arange(len(units), device=units.device).expand(len(queries), -1)
    chosen = torch.cat([texts[..., None], best], dim=-1).reshape(-1, 3)
    sums = functional.normalize(span_sums(units, chosen), dim=-1).view(len(queries), len(units), -1)
    cosines = torch.einsum("qd,qtd->qt", queries, sums)
    return cosines if added is None else cosines + added.gather(1, best[..., 1] - best[..., 0])


def added_by_length(
    query_units: Int[Tensor, " queries"], discount: float, bounds: SpanBounds
) -> Float[Tensor, "queries lengths"] | None:
    """Terms that the span score adds to the cosine of a span of every length, from 0; None where nothing is discounted.

    >>> added_by_length(torch.tensor([2]), 0.5, SpanBounds(1, 2)).numpy().round(3)
    array([[ 0.   , -0.347,  0.   ]], dtype=float32)
    """
    if not discount:
        return None
    lengths = SpanScore(discount).lengths(query_units.cpu().numpy(), bounds.longest)
    return torch.from_numpy(lengths).float().to(query_units.device)


@torch.no_grad()
def _best_spans(
    queries: Float[Tensor, "queries dim"],
    units: Float[Tensor, "texts units dim"],
    counts: Int[Tensor, " texts"],
    bounds: SpanBounds,
    added: Float[Tensor, "queries lengths"] | None,
) -> Int[Tensor, "queries texts 2"]:
    spans = torch.from_numpy(enumerate_spans(units.shape[1], bounds)).to(units.device)
    start, end = spans.unbind(dim=1)
    prefix = functional.pad(units.double().cumsum(dim=1), (0, 0, 1, 0))
    along = torch.einsum("qd,tud->qtu", queries.double(), prefix)
    gram = prefix @ prefix.transpose(1, 2)
    squares = gram.diagonal(dim1=1, dim2=2)
    norms = (squares[:, end] + squares[:, start] - 2 * gram[:, start, end]).clamp_min(_TINY).sqrt()
    scores = (along[..., end] - along[..., start]) / norms
    if added is not None:
        scores += added[:, None, end - start]
    beyond = end > counts[:, None]
    return spans[scores.masked_fill(beyond, -torch.inf).argmax(dim=-1)]


def paper_loss(
    true: Float[Tensor, " queries"], false: Float[Tensor, " queries"], scale: float = SCALE
) -> Float[Tensor, ""]:
    """``-l sim_true + log(exp(l sim_true) + exp(l sim_false))`` of cosines, which are mapped to [0, 1] first.

    >>> round(paper_loss(torch.tensor([0.5]), torch.tensor([0.5])).item(), 4)   # log 2
    0.6931
    """
    return functional.softplus(scale * (false - true) / 2).mean()


def paper_loss_in_batch(
    cosines: Float[Tensor, "queries texts"], scale: float = SCALE, weights: Float[Tensor, " queries"] | None = None
) -> Float[Tensor, ""]:
    """The paper's loss with every other text of the batch as a negative; the texts begin with the queries' own.

    A cosine of ``-inf`` leaves a text out. ``weights`` say how much each query counts.

    >>> round(paper_loss_in_batch(torch.tensor([[0.5, 0.5], [0.5, 0.5]])).item(), 4)   # log 2
    0.6931
    """
    own = torch.arange(len(cosines), device=cosines.device)
    losses = functional.cross_entropy(scale * (1 + cosines) / 2, own, reduction="none")
    if weights is None:
        return losses.mean()
    return (losses * weights).sum() / weights.sum().clamp_min(_TINY)


def correlation_loss(scores: Float[Tensor, " rows"], gold: Float[Tensor, " rows"]) -> Float[Tensor, ""]:
    """One minus Pearson's correlation of scores with graded similarities.

    >>> round(correlation_loss(torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1.0, 3.0, 5.0])).item(), 4)
    0.0
    """
    return 1 - functional.cosine_similarity(scores - scores.mean(), gold - gold.mean(), dim=0, eps=_TINY)


def distillation_loss(
    student: Float[Tensor, "spans dim"],
    teacher: Float[Tensor, "spans dim"],
    weights: DistillationWeights,
    temperature: float = 0.05,
) -> Float[Tensor, ""]:
    """Self-distillation: the same direction, the same similarities among spans, the same neighbours.

    The contrast is soft: how the student's span compares with all the teacher's must be how the teacher's own does,
    so that a span which means the same as another is no negative.

    >>> same = torch.eye(3)
    >>> round(distillation_loss(same, same, DistillationWeights(contrast=0)).item(), 4)
    0.0
    """
    similarities = similarity_loss(student, teacher)
    student, teacher = functional.normalize(student, dim=-1), functional.normalize(teacher, dim=-1)
    targets = teacher @ teacher.T
    across = student @ teacher.T
    cosine = 1 - across.diagonal().mean()
    target = (targets / temperature).softmax(dim=-1)
    contrast = -(target * (across / temperature).log_softmax(dim=-1)).sum(dim=-1).mean()
    return weights.cosine * cosine + weights.similarities * similarities + weights.contrast * contrast


def similarity_loss(student: Float[Tensor, "spans narrow"], teacher: Float[Tensor, "spans dim"]) -> Float[Tensor, ""]:
    """Mean square difference between all cosines among the student's spans and those among the teacher's.

    The two may differ in dimensions, so that a projection can learn from vectors of full length.

    >>> similarity_loss(torch.eye(2), torch.tensor([[3.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).item()
    0.0
    """
    student, teacher = functional.normalize(student, dim=-1), functional.normalize(teacher, dim=-1)
    return functional.mse_loss(student @ student.T, teacher @ teacher.T)


def border_loss(student: Float[Tensor, "queries spans"], teacher: Float[Tensor, "queries spans"]) -> Float[Tensor, ""]:
    """Loss that has a query's cosine fall as the teacher's does: from its match, the first span, to others of its text.

    Takes cosines. Only the falls count, not the level, which graded pairs decide.

    >>> round(border_loss(torch.tensor([[0.9, 0.5]]), torch.tensor([[0.8, 0.5]])).item(), 4)   # falls of .4 and .3
    0.01
    """
    return functional.mse_loss(student[:, 1:] - student[:, :1], teacher[:, 1:] - teacher[:, :1])


def twin_loss(best: Float[Tensor, " queries"], alone: Float[Tensor, " queries"]) -> Float[Tensor, ""]:
    """A search in context is to find what the match scores when both sides are read alone.

    Takes cosines of the encoder being trained. What it makes of texts alone is to be learnt from: it has no gradient.

    >>> round(twin_loss(torch.tensor([0.7]), torch.tensor([0.5])).item(), 4)
    0.04
    """
    return functional.mse_loss(best, alone.detach())


def without_matches(
    cosines: Float[Tensor, "queries texts"], taught: Float[Tensor, "queries texts"]
) -> Float[Tensor, "queries texts"]:
    """Leave out negatives that the teacher finds about as like the query as its own text is."""
    alike = taught > taught.diagonal()[:, None] - 0.1
    alike.fill_diagonal_(False)
    return cosines.masked_fill(alike, -torch.inf)
