"""BM25 of a query for its own passage, against the formula."""

import math

import numpy as np
import pytest

from app.evaluation.lexical import bm25_scores

PASSAGES = ["red car parked outside", "red red house", "blue sky today", "green tree grows tall"]


def by_formula(query: list[str], row: int) -> float:
    texts = [passage.split() for passage in PASSAGES]
    mean_length = sum(map(len, texts)) / len(texts)
    score = 0.0
    for word in query:
        holding = sum(word in text for text in texts)
        weight = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        count = texts[row].count(word)
        score += weight * count / (count + 1.5 * (1 - 0.75 + 0.75 * len(texts[row]) / mean_length))
    return score


def test_scores_are_those_of_the_formula() -> None:
    queries = ["red car", "red house", "green sky", "green tree"]
    expected = [by_formula(query.split(), row) for row, query in enumerate(queries)]
    np.testing.assert_allclose(bm25_scores(queries, PASSAGES), expected, rtol=1e-5)
    assert 0 < expected[2] < expected[0]


@pytest.mark.parametrize("query", ["", "the", "unheard words"])
def test_a_query_without_a_word_of_the_passages_scores_nothing(query: str) -> None:
    assert bm25_scores([query] * 4, PASSAGES).tolist() == [0, 0, 0, 0]
