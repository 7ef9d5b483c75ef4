"""BM25 against its formula."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from app.evaluation.bm25 import Bm25

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
