"""Retrieval by topic against loops, and the intents of a small set written for these tests."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import SpanBounds
from research.benchmarks.multidogo import PHRASES
from research.evaluation.intents import NAMES, TURNS, read_intents
from research.evaluation.topical_retrieval import (
    Topics,
    average_precision,
    best_span_scores,
    bm25_scores,
    encoder_scores,
    gain,
    measure_topics,
)
from tests.examples import examples

ROWS = [
    ("c1", 0, "hello there", "openinggreeting"),
    ("c1", 2, "please check the balance of my account", "checkbalance<div>openinggreeting"),
    ("c2", 0, "i want to book a flight to rome", "bookflight"),
    ("c2", 2, "rome", "contentonly"),
]


def write_turns(data: Path, split: str = "dev") -> None:
    folder = data / TURNS / "finance"
    folder.mkdir(parents=True)
    header = "conversationId\tturnNumber\tutteranceId\tutterance\tslot-labels\tintent"
    lines = [f"{conversation}\t{turn}\tid\t{text}\tO\t{intent}" for conversation, turn, text, intent in ROWS]
    (folder / f"{split}.tsv").write_text("\n".join([header, *lines]) + "\n", "utf-8")


def scores_by_loops(query: np.ndarray, turn: np.ndarray, bounds: SpanBounds, added: np.ndarray) -> tuple[float, float]:
    best = less = -math.inf
    for start in range(len(turn)):
        for end in range(start + bounds.shortest, min(len(turn), start + bounds.longest) + 1):
            span = turn[start:end].sum(axis=0, dtype=np.float64)
            norm = np.linalg.norm(span)
            cosine = float(span @ query / norm) if norm else 0.0
            best, less = max(best, cosine), max(less, cosine + added[end - start])
    return best, less


@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    shortest=st.integers(1, 3),
    longest=st.integers(3, 12),
    seed=st.integers(0, 99),
)
@settings(max_examples=examples(100), deadline=None)
def test_best_spans_are_those_of_loops(counts: list[int], shortest: int, longest: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    turns = [random.normal(size=(count, 4)).astype(np.float32) for count in counts]
    queries = random.normal(size=(3, 4))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    bounds, added = SpanBounds(shortest, longest), -random.random((3, longest + 1))
    best, less = best_span_scores(queries, turns, bounds, added)
    expected = [[scores_by_loops(query, turn, bounds, added[q]) for turn in turns] for q, query in enumerate(queries)]
    np.testing.assert_allclose(np.stack([best, less], axis=-1), expected, atol=1e-5)


@given(st.lists(st.booleans(), min_size=1, max_size=30).filter(any))
@settings(max_examples=examples(100), deadline=None)
def test_average_precision_is_that_of_scikit_learn(relevant: list[bool]) -> None:
    ranked = np.array(relevant)
    expected = average_precision_score(ranked, -np.arange(len(ranked)))
    assert average_precision(ranked) == pytest.approx(expected)


def test_nothing_relevant_has_no_precision() -> None:
    assert average_precision(np.zeros(3, bool)) == 0


def test_a_topic_counts_once_however_many_queries_it_has() -> None:
    relevant = np.array([[True, False], [True, False], [False, True]])
    scores = np.array([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    figures = measure_topics(scores, Topics(["a", "b"], ["p", "q", "r"], relevant, ["one", "one", "other"]))
    assert figures.average_precisions.tolist() == [0.75, 0.5]
    assert figures.average_precision == 0.625
    assert figures.precision_at_10 == 0.5


def test_every_intent_has_a_name_and_a_phrase() -> None:
    assert list(NAMES) == list(PHRASES)
    assert all(name.replace(" ", "") in intent for intent, name in NAMES.items())


def test_intents_are_asked_for_among_all_turns_of_the_split(tmp_path: Path) -> None:
    write_turns(tmp_path)
    topics = read_intents(tmp_path, "dev")
    assert list(topics.texts) == [text for _, _, text, _ in ROWS]
    assert list(topics.topics) == ["bookflight", "bookflight", "checkbalance", "checkbalance"]
    assert topics.relevant.tolist() == [[False, False, True, False]] * 2 + [[False, True, False, False]] * 2
    with pytest.raises(InvalidInput, match="no turns of the split 'test'"):
        read_intents(tmp_path, "test")


def test_the_right_turns_come_first(tmp_path: Path) -> None:
    write_turns(tmp_path)
    topics = read_intents(tmp_path, "dev")
    scores = encoder_scores(HashingEncoder(), topics, SpanBounds(), 0.15) | {"bm25": bm25_scores(topics)}
    figures = {name: measure_topics(of_row, topics) for name, of_row in scores.items()}
    assert all(row.average_precision == 1 for row in figures.values())
    mixed = 0.7 * scores["best span, discounted"] + 0.3 * scores["whole"]
    np.testing.assert_allclose(scores["0.7 span + 0.3 whole"], mixed)
    assert (scores["best span, discounted"] <= scores["best span"] + 1e-12).all()
    assert gain(figures["whole"], figures["bm25"]).difference == 0
