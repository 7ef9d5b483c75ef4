"""The losses of SLICE against loops that nobody can get wrong."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from models.types import SpanBounds
from research.training.losses import (
    SCALE,
    DistillationWeights,
    best_span_cosines,
    border_loss,
    correlation_loss,
    distillation_loss,
    paper_loss,
    paper_loss_in_batch,
    span_sums,
)

COUNTS = (7, 3, 1)


@pytest.fixture
def units() -> torch.Tensor:
    vectors = torch.randn(3, 7, 4, generator=torch.Generator().manual_seed(1))
    for text, count in enumerate(COUNTS):
        vectors[text, count:] = 0
    return vectors


@pytest.fixture
def queries() -> torch.Tensor:
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(2))


def best_by_loops(query: torch.Tensor, text: torch.Tensor, bounds: SpanBounds) -> float:
    best = -math.inf
    for start in range(len(text)):
        for end in range(start + bounds.shortest, min(len(text), start + bounds.longest) + 1):
            mean = text[start:end].sum(dim=0) / (end - start)
            best = max(best, (mean @ query / (mean.norm() * query.norm())).item())
    return best


@pytest.mark.parametrize("bounds", [SpanBounds(1, 20), SpanBounds(1, 1), SpanBounds(1, 3)])
def test_the_best_span_is_that_of_loops(units: torch.Tensor, queries: torch.Tensor, bounds: SpanBounds) -> None:
    found = best_span_cosines(queries, units, torch.tensor(COUNTS), bounds)
    for q, query in enumerate(queries):
        for t, count in enumerate(COUNTS):
            assert found[q, t].item() == pytest.approx(best_by_loops(query, units[t, :count], bounds), abs=1e-5)


def test_the_shortest_span_is_kept_to(units: torch.Tensor, queries: torch.Tensor) -> None:
    bounds = SpanBounds(2, 4)
    found = best_span_cosines(queries, units[:2], torch.tensor(COUNTS[:2]), bounds)
    assert found[0, 1].item() == pytest.approx(best_by_loops(queries[0], units[1, :3], bounds), abs=1e-5)


def test_padding_does_not_win_against_negative_cosines() -> None:
    units = torch.tensor([[[-1.0, 0.0], [0.0, 0.0]]])
    found = best_span_cosines(torch.tensor([[1.0, 0.0]]), units, torch.tensor([1]), SpanBounds())
    assert found.item() == -1


def test_the_best_span_has_the_gradient_of_a_maximum(units: torch.Tensor, queries: torch.Tensor) -> None:
    leaf = units.clone().requires_grad_(True)
    best_span_cosines(queries[:1], leaf[:1], torch.tensor(COUNTS[:1]), SpanBounds(1, 3)).sum().backward()
    by_loops = units[0].clone().requires_grad_(True)
    spans = [by_loops[i:j].sum(dim=0) for i in range(7) for j in range(i + 1, min(7, i + 3) + 1)]
    functional.cosine_similarity(torch.stack(spans), queries[:1]).max().backward()
    torch.testing.assert_close(leaf.grad[0], by_loops.grad, atol=1e-5, rtol=1e-4)


def test_span_sums_are_sums_of_slices(units: torch.Tensor) -> None:
    spans = [(0, 0, 7), (0, 2, 5), (1, 1, 3), (2, 0, 1)]
    expected = torch.stack([units[text, start:end].sum(dim=0) for text, start, end in spans])
    torch.testing.assert_close(span_sums(units, torch.tensor(spans)), expected, atol=1e-5, rtol=1e-4)


def test_the_papers_loss_is_its_equation() -> None:
    true, false = np.array([0.9, -0.2]), np.array([0.3, 0.4])
    expected = []
    for good, bad in zip((1 + true) / 2, (1 + false) / 2, strict=True):
        expected.append(-SCALE * good + math.log(math.exp(SCALE * good) + math.exp(SCALE * bad)))
    assert paper_loss(torch.tensor(true), torch.tensor(false)).item() == pytest.approx(np.mean(expected))


def test_in_batch_negatives_reduce_to_the_papers_loss_for_two_texts() -> None:
    cosines = torch.tensor([[0.9, 0.2], [0.1, 0.6]])
    pairwise = paper_loss(torch.tensor([0.9, 0.6]), torch.tensor([0.2, 0.1]))
    torch.testing.assert_close(paper_loss_in_batch(cosines), pairwise)


def test_a_text_left_out_is_no_negative() -> None:
    cosines = torch.tensor([[0.9, -torch.inf], [0.1, 0.6]])
    assert paper_loss_in_batch(cosines, weights=torch.tensor([1.0, 0.0])).item() == pytest.approx(0)
    assert paper_loss_in_batch(cosines, weights=torch.zeros(2)).item() == 0


def test_the_correlation_loss_is_one_minus_pearson() -> None:
    scores, gold = np.array([0.3, 0.1, 0.8, 0.4]), np.array([2.0, 1.0, 3.0, 5.0])
    expected = 1 - np.corrcoef(scores, gold)[0, 1]
    assert correlation_loss(torch.tensor(scores), torch.tensor(gold)).item() == pytest.approx(expected)


def test_equal_scores_give_a_loss_and_no_nan() -> None:
    scores = torch.full((4,), 0.5, requires_grad=True)
    loss = correlation_loss(scores, torch.arange(4.0))
    loss.backward()
    assert loss.item() == 1
    assert torch.isfinite(scores.grad).all()


def test_distillation_is_the_sum_of_its_parts_by_loops() -> None:
    student, teacher = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(3))
    s = [row / row.norm() for row in student]
    t = [row / row.norm() for row in teacher]
    cosine = sum(1 - (s[i] @ t[i]).item() for i in range(5)) / 5
    square = sum(((s[i] @ s[j]) - (t[i] @ t[j])).item() ** 2 for i in range(5) for j in range(5)) / 25
    contrast = 0.0
    for i in range(5):
        wanted = [math.exp((t[i] @ t[j]).item() / 0.05) for j in range(5)]
        found = [math.exp((s[i] @ t[j]).item() / 0.05) for j in range(5)]
        contrast -= sum(w / sum(wanted) * math.log(f / sum(found)) for w, f in zip(wanted, found, strict=True)) / 5
    loss = distillation_loss(student, teacher, DistillationWeights(2.0, 3.0, 0.5))
    assert loss.item() == pytest.approx(2 * cosine + 3 * square + 0.5 * contrast, rel=1e-4)


def test_borders_compare_falls_by_loops() -> None:
    student, teacher = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(4))
    squares = [
        ((student[q, k] - student[q, 0]) - (teacher[q, k] - teacher[q, 0])).item() ** 2
        for q in range(3)
        for k in range(1, 4)
    ]
    assert border_loss(student, teacher).item() == pytest.approx(sum(squares) / len(squares), rel=1e-4)
