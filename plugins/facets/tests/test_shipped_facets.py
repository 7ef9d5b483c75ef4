"""The facets that ship: they load with their word vectors, stay small, and point at what texts are about."""

import numpy as np
import pytest

from app.encoders.encoders import Encoders
from models.encoders.registry import EncoderOptions
from spanseek_facets.model import FacetModel, load_facets
from spanseek_facets.settings import SHIPPED
from spanseek_facets.shipped import Facets
from spanseek_facets.word_vectors import WordVectors, load_word_vectors

FOLDERS = ("facets-words", "facets-k10", "facets-phrases")


@pytest.fixture(scope="module")
def words() -> WordVectors:
    return load_word_vectors(SHIPPED / "facets-words")


def model(words: WordVectors, name: str) -> FacetModel:
    return load_facets(SHIPPED / name, words)


def test_all_weights_take_less_than_15_mb() -> None:
    sizes = [path.stat().st_size for name in FOLDERS for path in (SHIPPED / name).iterdir()]
    assert sum(sizes) < 15_000_000
    assert all((SHIPPED / name / "MODEL_CARD.md").is_file() for name in FOLDERS)


@pytest.mark.parametrize(("name", "facets"), [("facets-k10", 10), ("facets-phrases", 1)])
def test_facets_have_their_number_and_length(words: WordVectors, name: str, facets: int) -> None:
    assert model(words, name).encode(["the election of a president"]).shape == (1, facets, 200)


def test_ten_facets_name_several_things_of_a_sentence(words: WordVectors) -> None:
    text = "SMS messages are used in some countries as reminders of hospital appointments."
    nearest = words.nearest(model(words, "facets-k10").encode([text])[0], 5)
    assert {"hospital", "messages"} <= {word for row in nearest for word, _ in row}


def test_facets_read_by_their_own_backbone_whatever_the_settings_say(words: WordVectors) -> None:
    texts = ["The invoice was charged twice."]
    elsewhere = Facets(Encoders(EncoderOptions(backbone="no-such-model"))).sentences
    np.testing.assert_array_equal(elsewhere.encode(texts), model(words, "facets-k10").encode(texts))
