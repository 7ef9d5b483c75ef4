"""Weighted queries: uniform weights give the query of a search, others follow the words."""

import numpy as np
import pytest

from app.encoders.encoders import Encoders
from models.encoders.base import encode_queries
from models.encoders.hashing import HashingEncoder
from models.encoders.registry import EncoderOptions
from models.text.units import split
from research.evaluation.query_weights import WEIGHTINGS, query_vectors, weights_of
from spanseek_facets.shipped import Facets

TEXTS = ["I want to cancel my subscription", "zzyzx", "reset the router!"]


def test_uniform_weights_give_the_query_of_a_search() -> None:
    encoder = HashingEncoder()
    np.testing.assert_allclose(
        query_vectors(encoder, TEXTS, Facets(Encoders(EncoderOptions())), "uniform"),
        encode_queries(encoder, TEXTS),
        atol=1e-6,
    )


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_known_words_weigh_1_in_the_mean_and_unknown_words_1(weighting: str) -> None:
    text = "the zzyzx hospital"
    weights = weights_of(split(text), text, Facets(Encoders(EncoderOptions())), weighting)
    assert weights[1] == 1
    assert weights[[0, 2]].mean() == pytest.approx(1)
    if weighting == "frequency":
        assert weights[2] > weights[0]
