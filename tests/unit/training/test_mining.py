"""Pairs near one another: who is drawn with whom."""

import random

import numpy as np

from models.training.mining import near_pairs


def test_a_text_is_drawn_with_its_near_neighbours_more_often_than_with_others_and_never_with_itself() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(2_000, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = near_pairs(vectors, 600, random.Random(2))
    assert len(pairs) == 600
    assert all(this != other for this, other in pairs)
    ranks = np.array([(vectors @ vectors[this] > vectors[other] @ vectors[this]).sum() for this, other in pairs])
    # Of ranks whose logarithm is drawn evenly up to 200, five of six pairs, the median is the square root.
    assert 10 < np.median(ranks) < 35
    assert 0.08 < (ranks > 200).mean() < 0.25


def test_the_same_seed_gives_the_same_pairs() -> None:
    vectors = np.eye(12, dtype=np.float32)
    assert near_pairs(vectors, 9, random.Random(3)) == near_pairs(vectors, 9, random.Random(3))
    assert near_pairs(vectors, 9, random.Random(3)) != near_pairs(vectors, 9, random.Random(4))
