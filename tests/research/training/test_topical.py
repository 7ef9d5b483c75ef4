"""The retrieval term: its pairs, its losses against loops, and that it learns."""

import gzip
import io
import json
import math
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.backbones.torch_network import load_backbone
from models.ops.span_score import SpanScore
from models.types import SpanBounds
from research.training.batches import further_passages
from research.training.config import SliceConfig
from research.training.loop import Checkpoints, Schedule, fit
from research.training.losses import added_by_length, best_span_cosines
from research.training.slice import Material, first_projection, load_teachers, step_losses, train_slice, trainable
from research.training.texts import Texts
from research.training.topical import ranking_loss, retrieval_loss, topical_losses
from research.training.topical_pairs import TopicalPair, draw_topical, read_topical_pairs
from tests.examples import examples
from tests.tiny_bert import PROSE

PAIRS = [
    TopicalPair("the green door", "it stood open and was late"),
    TopicalPair("a dog barked", "nobody saw the cat"),
    TopicalPair("rain fell", "the door was seen"),
]
MATERIAL = Material(Texts({"novels": [PROSE]}, {"short": ["a dog barked"]}, [], {}, topical={"turns": PAIRS}))


@pytest.fixture
def topical(config: SliceConfig) -> SliceConfig:
    """A run with nothing but the retrieval term and some distillation."""
    shape = replace(config.shape, pairs=0, short=0, topical=3, hard=1)
    return replace(config, shape=shape, weights=replace(config.weights, retrieval=1.0, ranking=1.0), discount=0.15)


@given(
    counts=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    query_units=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    discount=st.floats(0.01, 2),
    longest=st.integers(1, 9),
    seed=st.integers(0, 99),
)
@settings(max_examples=examples(60), deadline=None)
def test_the_best_span_by_the_span_score_is_that_of_loops(
    counts: list[int], query_units: list[int], discount: float, longest: int, seed: int
) -> None:
    generator, bounds = torch.Generator().manual_seed(seed), SpanBounds(1, longest)
    units = torch.randn(len(counts), max(counts), 4, generator=generator)
    queries = torch.randn(len(query_units), 4, generator=generator)
    added = added_by_length(torch.tensor(query_units), discount, bounds)
    scores = best_span_cosines(queries, units, torch.tensor(counts), bounds, added)
    for q, query in enumerate(queries):
        for t, count in enumerate(counts):
            best = -math.inf
            for start in range(count):
                for end in range(start + 1, min(count, start + longest) + 1):
                    cosine = torch.cosine_similarity(units[t, start:end].sum(dim=0), query, dim=0).item()
                    best = max(best, cosine - discount * max(0.0, math.log(query_units[q] / (end - start))))
            assert scores[q, t].item() == pytest.approx(best, abs=1e-5)


def test_what_is_added_is_the_span_scores(topical: SliceConfig) -> None:
    added = added_by_length(torch.tensor([3, 9]), topical.discount, topical.bounds)
    assert added is not None
    expected = SpanScore(0.15).lengths(np.array([3, 9]), topical.bounds.longest)
    np.testing.assert_allclose(added.numpy(), expected, atol=1e-6)
    assert added_by_length(torch.tensor([3]), 0.0, topical.bounds) is None


def test_losses_are_those_of_loops() -> None:
    scores = torch.tensor([[0.3, 0.1, -math.inf], [0.2, 0.4, 0.5]], dtype=torch.float64)
    expected = 0.0
    for own, row in enumerate(scores.tolist()):
        expected -= math.log(math.exp(row[own] / 0.1) / sum(math.exp(score / 0.1) for score in row)) / 2
    assert retrieval_loss(scores, 0.1).item() == pytest.approx(expected)

    scores = torch.tensor([[0.3, 0.1, 0.2], [0.2, 0.4, 0.5]], dtype=torch.float64)
    relevance = torch.tensor([[0.9, 0.1, 0.3], [0.1, 0.2, 0.6]], dtype=torch.float64)
    expected = 0.0
    for ours, theirs in zip(scores.tolist(), relevance.tolist(), strict=True):
        q, p = ([math.exp(value / 0.1) for value in row] for row in (ours, theirs))
        expected += sum(b / sum(p) * math.log(b / sum(p) / (a / sum(q))) for a, b in zip(q, p, strict=True)) / 2
    assert ranking_loss(scores, relevance, 0.1).item() == pytest.approx(expected)


def test_only_losses_with_a_weight_are_computed(topical: SliceConfig) -> None:
    student = frozen = load_backbone(topical.backbone, device="cpu")
    both = topical_losses(student, frozen, PAIRS, ["it was late"], topical)
    assert list(both) == ["retrieval_span", "ranking_span", "retrieval_whole", "ranking_whole"]
    ranking = replace(topical, weights=replace(topical.weights, retrieval=0.0))
    assert list(topical_losses(student, frozen, PAIRS, [], ranking)) == ["ranking_span", "ranking_whole"]
    # The student has not learnt yet: its whole texts are the teacher's.
    assert both["ranking_whole"].item() == pytest.approx(0, abs=1e-5)


def test_a_gradient_reaches_every_layer(topical: SliceConfig) -> None:
    student, frozen = (load_backbone(topical.backbone, device="cpu") for _ in range(2))
    parameters = trainable(student)
    with torch.no_grad():
        for parameter in parameters.values():
            parameter.mul_(1.2)
    torch.stack(list(topical_losses(student, frozen, PAIRS, [], topical).values())).sum().backward()
    # A key's bias shifts all scores of a query alike, so that softmax leaves it without a gradient.
    without = {name for name, p in parameters.items() if p.grad is None or not p.grad.abs().sum() > 0}
    assert all(name.endswith("attention.self.key.bias") for name in without)
    assert all(p.grad is None for p in frozen.model.parameters())


def test_it_overfits_a_handful_of_pairs(topical: SliceConfig) -> None:
    student, frozen = (load_backbone(topical.backbone, device="cpu") for _ in range(2))
    # All words of the tiny backbone are alike: its own ranking would leave out every negative.
    config = replace(topical, weights=replace(topical.weights, ranking=0.0))
    unlike = [TopicalPair("late", "it was late"), TopicalPair("rain", "rain fell"), TopicalPair("dog", "a dog barked")]
    first = topical_losses(student, frozen, unlike, [], config)
    fit(
        trainable(student),
        lambda _: topical_losses(student, frozen, unlike, [], config),
        Schedule(steps=60, rate=3e-3),
        Checkpoints(config.checkpoints),
    )
    last = topical_losses(student, frozen, unlike, [], config)
    assert all(last[name] < 0.5 * first[name] for name in first)


def test_a_step_has_the_term_where_pairs_are_drawn(topical: SliceConfig) -> None:
    student, teachers = load_backbone(topical.backbone, device="cpu"), load_teachers(topical)
    projection = first_projection(teachers.spans, MATERIAL, topical)
    losses = step_losses(student, teachers, projection, MATERIAL, topical, 0)
    assert {"ranking_span", "retrieval_whole"} <= losses.keys()
    without = replace(topical, shape=replace(topical.shape, topical=0))
    others = step_losses(student, teachers, projection, MATERIAL, without, 0)
    assert others.keys() == losses.keys() - {
        f"{kind}_{of}" for kind in ("retrieval", "ranking") for of in ("span", "whole")
    }
    # What is drawn besides stays what it was.
    assert all(torch.equal(others[name], losses[name]) for name in others)


def test_weights_say_what_pairs_and_discount_they_learnt_with(topical: SliceConfig) -> None:
    facts = train_slice(topical, MATERIAL).config
    assert facts["discount"] == 0.15
    assert facts["topical"]["meetings"] == "MIT"
    assert (facts["weights"]["ranking"], facts["shape"]["hard"]) == (1.0, 1)


def test_a_step_is_drawn_alike_every_time_and_no_passage_twice() -> None:
    pairs = {"turns": PAIRS, "none": []}
    assert draw_topical(pairs, 2, 13, 5) == draw_topical(pairs, 2, 13, 5)
    assert len({tuple(draw_topical(pairs, 2, 13, step)) for step in range(9)}) > 1
    assert sorted(draw_topical(pairs, 40, 13, 5), key=PAIRS.index) == PAIRS
    assert draw_topical({}, 4, 13, 5) == draw_topical(pairs, 0, 13, 5) == []
    passages = further_passages(MATERIAL.texts, PAIRS[:2], 13, 5)
    assert len(passages) == 2
    assert passages == further_passages(MATERIAL.texts, PAIRS[:2], 13, 5)


def article(number: int) -> str:
    body = [
        f"Village number {number} is a village in the north of the country.",
        "History.",
        "The village was founded by miners two hundred years ago. A church of stone was built when the mine grew rich. "
        "Later the mine was closed and most of the miners went away.",
    ]
    return "\n".join([f'<doc id="{number}" url="u" title="Village {number}">', *body, "</doc>"])


def test_pairs_of_all_kinds_are_read(tmp_path: Path) -> None:
    (tmp_path / "enwiki-extract").mkdir()
    with gzip.open(tmp_path / "enwiki-extract/AA.txt.gz", "wt") as file:
        file.write("\n".join(map(article, range(80))))
    turns = ["Shall we talk about the {vocalsound} price of the new remote control today ?", "Well , yes ."]
    turns.append("I think that it is n't going to sell at more than twenty five Euro .")
    meeting = {
        "specific_query_list": [
            {"query": "What was said about the price?", "relevant_text_span": [["1", "2"], ["0", "0"]]}
        ],
        "topic_list": [{"topic": "The price", "relevant_text_span": [["2", "2"]]}],
        "meeting_transcripts": [{"content": turn} for turn in turns],
    }
    (tmp_path / "qmsum").mkdir()
    content = json.dumps(meeting).encode()
    with tarfile.open(tmp_path / "qmsum/train.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("one.json")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    pairs = read_topical_pairs(tmp_path)
    assert list(pairs) == ["headings", "leads", "cloze", "meetings", "turns"]
    price = "Shall we talk about the price of the new remote control today?"
    euro = "I think that it isn't going to sell at more than twenty five Euro."
    assert pairs["meetings"] == [
        TopicalPair("What was said about the price?", price),
        TopicalPair("The price", euro),
    ]
    assert pairs["turns"] == []  # the turn between says too little
    assert any(pair.query.endswith(": History") for pair in pairs["headings"])
    assert all(pair.query.startswith("Village number") for pair in pairs["leads"])
    assert pairs["cloze"]
    assert all(pair.query not in pair.passage for pair in pairs["cloze"])
    assert pairs == read_topical_pairs(tmp_path)
