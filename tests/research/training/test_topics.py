"""Contexts found by their topic."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from models.backbones.torch_network import Backbone, load_backbone
from research.training import reading as topics
from research.training.batches import Shape, draw, some_contexts
from research.training.reading import Topics
from research.training.sources import GradedPair
from research.training.texts import NO_TEXTS

CATS = ["nobody saw the cat", "it was the cat nobody saw"]
DOGS = ["a dog barked", "rain fell, and a dog barked"]


@pytest.fixture(scope="module")
def bert(backbone: Path) -> Backbone:
    return load_backbone(str(backbone), device="cpu")


@pytest.fixture
def found(bert: Backbone, monkeypatch: pytest.MonkeyPatch) -> Topics:
    monkeypatch.setattr(topics, "_AMONG", 2)
    return Topics(bert, [CATS[0], DOGS[0], CATS[1], DOGS[1]])


@pytest.mark.parametrize(("phrase", "wanted"), [("nobody saw it", CATS), ("the dog barked", DOGS)])
def test_contexts_speak_of_what_the_phrase_speaks_of(found: Topics, phrase: str, wanted: list[str]) -> None:
    assert {found.near(phrase, random.Random(seed)) for seed in range(20)} == set(wanted)


def test_a_pool_smaller_than_the_choice_is_drawn_from_whole(bert: Backbone) -> None:
    assert Topics(bert, CATS[:1]).near("rain", random.Random(1)) == CATS[0]


def test_contexts_know_which_others_are_nearest(found: Topics) -> None:
    assert found.nearest(0, 2) == [0, 2]
    assert found.nearest(1, 2) == [1, 3]
    assert sorted(found.nearest(3, 9)) == [0, 1, 2, 3]


def test_only_as_many_pairs_as_asked_for_are_set_into_near_contexts(found: Topics) -> None:
    pairs = [GradedPair("nobody saw", "nobody saw", 1.0)]
    texts = replace(NO_TEXTS, prose={"far": ["zzz."]}, pairs=pairs, near=found.near)
    drawn = draw(texts, Shape(pairs=6, near=4, set_in_context=0, plain=0, alone=0), 13, 1)
    assert ["zzz" in sample.text for sample in drawn.contexts] == [False] * 4 + [True] * 2


def test_questions_stand_beside_prose_that_speaks_of_the_same(found: Topics) -> None:
    texts = replace(NO_TEXTS, prose={"far": ["zzz."]}, questions=["nobody saw it"], near=found.near)
    drawn = draw(texts, Shape(set_in_context=0, plain=0, alone=0, questions=9), 13, 1)
    assert {sample.text for sample in drawn.others} == set(CATS)


def test_the_same_seed_gives_the_same_contexts() -> None:
    texts = replace(NO_TEXTS, prose={"a": [f"Word {number} stands here." for number in range(50)]})
    assert some_contexts(texts, 9, 1) == some_contexts(texts, 9, 1) != some_contexts(texts, 9, 2)
