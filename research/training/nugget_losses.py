"""What nuggets learn from, as functions of tensors.

The forward values are those of the search (eq. 10); scores take part in them with a value of nothing and a gradient,
which is how the scorer learns from a choice that has none.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

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
    """What each nugget of a query counts: all the same, with the gradient that a softmax of the scores would have.

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
