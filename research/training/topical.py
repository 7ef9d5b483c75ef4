"""The retrieval term of SLICE training: passages must rank by topic, by their best span and by the whole.

Distillation and graded pairs teach what a span means; nothing in them keeps a text near to what it is about. Here every
query of a step is set against all passages of the step. What is to be learnt is either its own passage (``retrieval``,
InfoNCE: van den Oord et al., 2018, equation 4) or the order that the frozen backbone has, which reads every text
alone (``ranking``, listwise distillation: the cross-entropy of Cao et al., 2007, "Learning to Rank", section 4).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from models.backbones.torch_network import Backbone
from research.training.config import SliceConfig
from research.training.loop import Losses
from research.training.losses import added_by_length, best_span_cosines, without_matches
from research.training.reading import alone, first_windows, unit_vectors
from research.training.topical_pairs import TopicalPair

TEMPERATURE = 0.05


def topical_losses(
    student: Backbone, frozen: Backbone, pairs: Sequence[TopicalPair], hard: Sequence[str], config: SliceConfig
) -> Losses:
    """The losses of pairs and of further passages, which belong to no query; those with a weight, by name."""
    count, weights = len(pairs), config.weights
    texts = [*(pair.query for pair in pairs), *(pair.passage for pair in pairs), *hard]
    vectors, counts = unit_vectors(student, first_windows(student, texts))
    taught = alone(frozen, texts).to(vectors.device)
    relevance = taught[:count] @ taught[count:].T
    losses: dict[str, Float[Tensor, ""]] = {}
    for name, scores in _scores(vectors, counts, count, config).items():
        if weights.retrieval:
            negatives = without_matches(scores, relevance)
            losses[f"retrieval_{name}"] = weights.retrieval * retrieval_loss(negatives)
        if weights.ranking:
            losses[f"ranking_{name}"] = weights.ranking * ranking_loss(scores, relevance)
    return losses


def _scores(
    units: Float[Tensor, "texts units dim"], counts: Int[Tensor, " texts"], queries: int, config: SliceConfig
) -> dict[str, Float[Tensor, "queries passages"]]:
    """The score of every passage for every query: that of its best span, and the cosine of the whole."""
    sums = units.sum(dim=1)  # padding is zero
    added = added_by_length(counts[:queries], config.discount, config.bounds)
    spans = best_span_cosines(sums[:queries], units[queries:], counts[queries:], config.bounds, added)
    wholes = functional.normalize(sums, dim=-1)
    return {"span": spans, "whole": wholes[:queries] @ wholes[queries:].T}


def retrieval_loss(scores: Float[Tensor, "queries passages"], temperature: float = TEMPERATURE) -> Float[Tensor, ""]:
    """InfoNCE: ``-log(exp(s_own / t) / sum over p of exp(s_p / t))``; passages begin with the queries' own.

    A score of ``-inf`` leaves a passage out.

    >>> round(retrieval_loss(torch.tensor([[0.5, 0.5, -torch.inf], [0.1, 0.1, -torch.inf]])).item(), 4)   # log 2
    0.6931
    """
    return functional.cross_entropy(scores / temperature, torch.arange(len(scores), device=scores.device))


def ranking_loss(
    scores: Float[Tensor, "queries passages"],
    relevance: Float[Tensor, "queries passages"],
    temperature: float = TEMPERATURE,
) -> Float[Tensor, ""]:
    """Kullback-Leibler divergence of the passages' distribution from the teacher's; levels of scores do not count.

    >>> relevance = torch.tensor([[0.9, 0.2], [0.1, 0.3]])
    >>> abs(ranking_loss(relevance - 0.1, relevance).item()) < 1e-6
    True
    """
    predicted = (scores / temperature).log_softmax(dim=-1)
    return functional.kl_div(
        predicted, (relevance / temperature).log_softmax(dim=-1), reduction="batchmean", log_target=True
    )
