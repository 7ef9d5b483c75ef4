"""Weights of a query's words: of which unit which word is, in texts of several scripts."""

import numpy as np
import pytest

from app.encoders.encoders import Encoders
from models.encoders.registry import EncoderOptions
from models.text.units import split
from research.evaluation.query_weights import weights_of
from research.evaluation.unit_weights import unit_weights
from spanseek_facets.shipped import Facets
from spanseek_facets.word_vectors import WordVectors
from tests import reference

KNOWN = {"cancel": 1.0, "my": 3.0, "plan": 2.0, "t": 4.0, "can": 2.0, "façade": 5.0, "東京": 6.0, "stanbul": 7.0}
WORDS = WordVectors(tuple(KNOWN), np.eye(len(KNOWN), dtype=np.float32), np.ones(len(KNOWN)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cancel my plan", [1, 3, 2]),
        ("Cancel, MY plan!", [1, None, 3, 2, None]),
        ("can't cancel", [3, 1]),
        ("cancel cancel plan", [1, 1, 2]),
        ("cancel_my plan", [1, None, 3, 2]),
        ("une façade, plan", [None, 5, None, 2]),
        ("plan 東京", [2, 6, 6]),
        ("İstanbul plan", [7, 2]),
        ("zzyzx plan", [None, 2]),
        ("😀 plan \u200d", [None, 2, None]),
    ],
)
def test_units_weigh_what_their_words_do(text: str, expected: list[float | None]) -> None:
    units = split(text)
    weights = unit_weights(WORDS, text, units, lambda ids: np.array(list(KNOWN.values()))[ids])
    present = [weight for weight in expected if weight is not None]
    mean = sum(present) / len(present)
    assert weights.tolist() == pytest.approx([1 if weight is None else weight / mean for weight in expected])


@pytest.mark.parametrize("text", ["", "?!", "zzyzx qwrtz"])
def test_units_without_a_known_word_weigh_1(text: str) -> None:
    weights = unit_weights(WORDS, text, split(text), lambda ids: pytest.fail("there is no word"))
    assert weights.tolist() == [1.0] * len(split(text))


def test_words_without_any_weight_weigh_1() -> None:
    text = "cancel my plan"
    assert unit_weights(WORDS, text, split(text), lambda ids: np.zeros(len(ids))).tolist() == [1, 1, 1]


def test_importance_is_that_of_loops() -> None:
    text, facets = "Visit the hospital, the hospital!", Facets(Encoders(EncoderOptions()))
    model = facets.sentences
    (codebook,) = model.encode([text])
    names = ["visit", "the", "hospital"]
    of_words = reference.importance(model.words.vectors[model.words.ids(names)], codebook)
    units = split(text)
    expected = reference.unit_weights(text, units.tolist(), dict(zip(names, of_words, strict=True)))
    weights = weights_of(units, text, facets, "importance")
    assert weights.tolist() == pytest.approx(expected, abs=1e-5)
    assert weights[1] < weights[2]
    assert weights[2] == pytest.approx(weights[5])


def test_words_that_tell_sentences_apart_are_the_most_important() -> None:
    text = "I can't cancel my subscription, please!"
    units = split(text)
    weights = weights_of(units, text, Facets(Encoders(EncoderOptions())), "importance")
    of_units = {text[start:end]: weight for (start, end), weight in zip(units.tolist(), weights, strict=True)}
    assert min(of_units["cancel"], of_units["subscription"]) > 1 > max(of_units["I"], of_units["my"])
