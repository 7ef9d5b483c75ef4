"""The losses of nuggets, against loops; and what their gradients reach."""

import numpy as np
import pytest
import torch

from models.ops.segment_means import segment_means
from research.nugget_lm.nugget import NuggetDecoder
from research.training.nugget_losses import maxsim_scores, own_scale, query_shares


def padded(lengths: list[int], seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return own_scale(torch.randn(len(lengths), max(lengths), 5, generator=generator)), real


def test_maxsim_is_that_of_loops_whatever_the_padding() -> None:
    (queries, asked), (documents, had) = padded([3, 1, 4], 1), padded([2, 5], 2)
    scores = [torch.randn(real.shape) for real in (asked, had)]
    for given in ((), scores):
        found = maxsim_scores(queries, asked, documents, had, *given)
        for q in range(3):
            for d in range(2):
                best = [max(float(one @ other) for other in documents[d][had[d]]) for one in queries[q][asked[q]]]
                assert found[q, d].item() == pytest.approx(np.mean(best), abs=1e-6)


def test_scores_of_nuggets_that_match_best_are_raised() -> None:
    queries, documents = torch.eye(2)[None], torch.tensor([[[1.0, 0.0]]])
    real, has = torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 1, dtype=torch.bool)
    scores = torch.zeros(1, 2, requires_grad=True)
    maxsim_scores(queries, real, documents, has, scores).sum().backward()
    gradient = scores.grad
    assert gradient[0, 0] > 0 > gradient[0, 1]


def test_shares_are_equal_and_padding_has_none() -> None:
    _, real = padded([3, 1], 3)
    assert query_shares(real, torch.randn(2, 3)).tolist() == [pytest.approx([1 / 3] * 3), [1.0, 0.0, 0.0]]


def test_segment_means_are_those_of_loops() -> None:
    states = torch.randn(2, 9, 4)
    positions, real = torch.tensor([[3, 4, 7], [5, 0, 0]]), torch.tensor([[True] * 3, [True, False, False]])
    found = segment_means(states, positions, real, begin=1)
    expected = [states[0, 1:4], states[0, 4:5], states[0, 5:8]]
    torch.testing.assert_close(found[0], torch.stack([part.mean(dim=0) for part in expected]))
    torch.testing.assert_close(found[1, 0], states[1, 1:6].mean(dim=0))


def decoder() -> NuggetDecoder:
    return NuggetDecoder(dim=8, heads=2, layers=2, positions=10)


def test_the_decoder_does_not_see_what_comes() -> None:
    targets, nuggets, scores = torch.randn(1, 6, 8), torch.randn(1, 3, 8), torch.randn(1, 3)
    real = torch.ones(1, 3, dtype=torch.bool)
    other = targets.clone()
    other[:, 4:] = torch.randn(1, 2, 8)
    first, second = (decoder()(given, nuggets, scores, real) for given in (targets, other))
    torch.testing.assert_close(first[:, :4], second[:, :4])
    assert (first[:, 4:] - second[:, 4:]).abs().max() > 1e-4


def test_the_decoder_does_not_see_padding() -> None:
    targets, nuggets, scores = torch.randn(1, 6, 8), torch.randn(1, 3, 8), torch.randn(1, 3)
    whole = decoder()(targets, nuggets[:, :2], scores[:, :2], torch.ones(1, 2, dtype=torch.bool))
    longer = decoder()(targets, nuggets, scores, torch.tensor([[True, True, False]]))
    torch.testing.assert_close(whole, longer)


def test_a_gradient_reaches_scores_through_cross_attention() -> None:
    """Eq. 5: and a nugget of higher score is attended to more."""
    model = decoder()
    scores = torch.zeros(1, 3, requires_grad=True)
    model(
        torch.randn(1, 6, 8), torch.randn(1, 3, 8), scores, torch.ones(1, 3, dtype=torch.bool)
    ).square().sum().backward()
    assert scores.grad.abs().min() > 0
