"""The two-step softmax against a softmax over the whole vocabulary."""

import numpy as np
import pytest
import torch

from research.nugget_lm.adaptive_softmax import AdaptiveSoftmax, by_frequency

COUNTS = np.array([3, 40, 0, 7, 1, 12, 0, 2, 5, 9])


def softmax(cuts: tuple[int, ...]) -> AdaptiveSoftmax:
    torch.manual_seed(3)
    made = AdaptiveSoftmax(torch.randn(10, 4), by_frequency(COUNTS), COUNTS, cuts)
    torch.nn.init.normal_(made.to_class)
    return made


STATES = torch.randn(30, 4, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("cuts", [(3, 6), (4,), (20,)])
def test_probabilities_add_up_and_losses_are_theirs(cuts: tuple[int, ...]) -> None:
    made = softmax(cuts)
    likely = made.log_likelihoods(STATES)
    torch.testing.assert_close(likely.exp().sum(dim=-1), torch.ones(30))
    for token in range(10):
        targets = torch.full((30,), token)
        torch.testing.assert_close(made.losses(STATES, targets), -likely[:, token])


@pytest.mark.parametrize("cuts", [(3, 6), (4,), (20,)])
def test_the_likeliest_word_is_that_of_all_words(cuts: tuple[int, ...]) -> None:
    made = softmax(cuts)
    found = made.likeliest(STATES)
    torch.testing.assert_close(found, made.log_likelihoods(STATES).argmax(dim=-1))
    assert len(set(found.tolist())) > 3


def test_it_begins_with_frequencies() -> None:
    made = AdaptiveSoftmax(torch.randn(10, 4), by_frequency(COUNTS), COUNTS, (3, 6))
    likely = made.log_likelihoods(torch.zeros(1, 4)).exp()[0].detach().numpy()
    seen = np.maximum(COUNTS, 0.1)
    np.testing.assert_allclose(likely, seen / seen.sum(), rtol=1e-5)


def test_a_gradient_reaches_rare_words_and_their_classes() -> None:
    made = softmax((3, 6))
    made.losses(STATES, torch.arange(30) % 10).sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in made.parameters())
