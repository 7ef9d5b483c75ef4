"""Pairs near one another: who is drawn with whom, and of which sentences."""

import gzip
import random
from pathlib import Path

import numpy as np
import pytest

from research.training import pseudo_labels as mining
from research.training.pseudo_labels import near_pairs, neighbouring_pairs, plain_sentences


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


def test_neighbours_are_pairs_that_no_one_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mining, "AMONG_GRADED", 300)
    people = [
        ("A man sings.", "A man is singing."),
        ("A dog runs.", "The dog is running."),
        ("Rain fell.", "It rained."),
    ]
    (tmp_path / "stsb").mkdir()
    with gzip.open(tmp_path / "stsb/sts-train.csv.gz", "wt") as file:
        file.writelines(f"m\tf\ty\t{n}\t{5 - n}.0\t{one}\t{other}\n" for n, (one, other) in enumerate(people))
    found = list(neighbouring_pairs(tmp_path))
    pairs = {frozenset((pair.query, pair.paraphrase)) for pair in found}
    assert len(pairs) == 15 - 3  # all of six sentences, but those that people graded
    assert pairs.isdisjoint(map(frozenset, people))
    assert all(0 <= pair.score <= 1 for pair in found)


def test_plain_sentences_say_nothing_that_one_kind_of_prose_alone_speaks_of() -> None:
    calls = ["My parcel is late. It is what it is.", "Where is it? It is 5 what it is."]
    novels, news = ["The whale, it is what it is! Where is it"], ["Where is what it is", "Shares fell."]
    found = plain_sentences({"calls": calls, "novels": novels, "news": news})
    assert sorted(found) == ["It is what it is.", "Where is it?", "Where is what it is"]
