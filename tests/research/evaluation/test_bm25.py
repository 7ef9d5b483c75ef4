"""BM25 against its formula."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from research.evaluation.bm25 import Bm25, bm25_scores

TEXTS = ["red car red", "blue car", "red house with a blue door", "snow", "", "the of"]


def by_formula(query: Sequence[str], texts: Sequence[Sequence[str]], k1: float = 1.5, b: float = 0.75) -> list[float]:
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        score = 0.0
        for word in query:
            holders = sum(word in other for other in texts)
            weight = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            count = text.count(word)
            score += weight * count / (count + k1 * (1 - b + b * len(text) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize("query", ["red", "blue car", "red blue house", "the red of it"])
def test_texts_are_ranked_by_the_formula(query: str) -> None:
    stop = {"with", "a", "the", "of", "it"}
    words = [[word for word in text.split() if word not in stop] for text in TEXTS]
    scores = by_formula([word for word in query.split() if word not in stop], words)
    expected = sorted((row for row in range(len(TEXTS)) if scores[row] > 0), key=lambda row: -scores[row])
    assert Bm25(TEXTS).best(query, 10) == expected
    assert Bm25(TEXTS).best(query, 1) == expected[:1]


def test_only_some_texts_can_be_asked() -> None:
    index = Bm25(TEXTS)
    assert index.best("blue car", 10) == [1, 0, 2]
    assert index.best("blue car", 10, np.array([2, 0])) == [0, 2]
    assert index.best("blue car", 10, np.array([3])) == []


def test_equals_stay_in_order() -> None:
    assert Bm25(["one cat", "two cat", "six cat"]).best("cat", 2) == [0, 1]


@pytest.mark.parametrize("query", ["", "the", "unheard words"])
def test_a_query_without_a_known_word_finds_nothing(query: str) -> None:
    assert Bm25(TEXTS).best(query, 3) == []


def test_each_query_is_scored_for_its_own_passage() -> None:
    passages = ["red car parked outside", "red red house", "blue sky today", "green tree grows tall"]
    queries = ["red car", "red house", "green sky", "green tree"]
    split = [passage.split() for passage in passages]
    expected = [by_formula(query.split(), split)[row] for row, query in enumerate(queries)]
    np.testing.assert_allclose(bm25_scores(queries, passages), expected, rtol=1e-5)
    assert 0 < expected[2] < expected[0]


@pytest.mark.parametrize("query", ["", "the", "unheard words"])
def test_a_query_without_a_word_of_the_passages_scores_nothing(query: str) -> None:
    assert bm25_scores([query] * 2, ["red car", "blue sky"]).tolist() == [0, 0]
