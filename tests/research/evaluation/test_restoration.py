"""Restored texts are compared with what they were: the figures against loops and known answers."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.encoders.restorable.base import Restoration, RestoredToken
from models.encoders.restorable.model import RestorableModel
from models.encoders.restorable.network import RestorableNetwork
from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import BEGIN, Vocabulary
from models.errors import InvalidInput
from research.evaluation.restoration import evaluate_restoration, perplexity
from research.evaluation.rouge import rouge_scores
from research.training.restorable_data import held_out_texts

TEXTS = ["a cat sat on a mat", "where is my parcel?", "my parcel is late and I want to cancel it"]
VOCABULARY = Vocabulary.learn(TEXTS, 300)
SHAPE = RestorableShape(vocabulary=VOCABULARY.size, dim=32, width=16, heads=2, hidden=32, stretch=8, vectors=6)


@pytest.fixture(scope="module")
def model() -> RestorableModel:
    torch.manual_seed(4)
    return RestorableModel(RestorableNetwork(SHAPE), VOCABULARY)


class Known(RestorableModel):
    """Restores the second text wrongly, and is sure of the first and the second."""

    def restore(self, memories, *, beams=1, most_tokens=None, repeats=0):  # type: ignore[no-untyped-def]
        texts = [TEXTS[0], "where is my cat?", TEXTS[2]]
        sure = [0.9, 0.6, 0.4]
        return [Restoration((RestoredToken(text, each),)) for text, each in zip(texts, sure, strict=True)]


def test_figures_are_means_over_texts(model: RestorableModel) -> None:
    found = evaluate_restoration(Known(model.network, VOCABULARY), TEXTS)
    assert found.figures["exact"] == pytest.approx(200 / 3, abs=0.01)
    assert found.figures["rouge1"] == pytest.approx((200 + 75) / 3, abs=0.01)
    assert found.figures["rouge2"] == pytest.approx((200 + 200 / 3) / 3, abs=0.01)
    assert found.figures["sure"] == pytest.approx(200 / 3, abs=0.01)
    assert found.figures["exact_if_sure"] == 50
    lower, upper = found.bounds["exact"]
    assert 0 <= lower < found.figures["exact"] < upper <= 100


def test_perplexity_is_that_of_a_loop_over_tokens(model: RestorableModel) -> None:
    total, count = 0.0, 0
    with torch.inference_mode():
        for ids, memory in zip(VOCABULARY.ids(TEXTS), model.encode(TEXTS), strict=True):
            vectors = torch.from_numpy(memory)[None]
            real = torch.ones(1, len(memory), dtype=torch.bool)
            for place, token in enumerate(ids):
                scores = model.network(torch.tensor([[BEGIN, *ids[:place]]]), vectors, real)[0, -1]
                total -= scores.log_softmax(0)[int(token)].item()
                count += 1
    assert perplexity(model, TEXTS) == pytest.approx(math.exp(total / count), rel=1e-3)


def test_an_untrained_model_restores_little_and_says_so(model: RestorableModel) -> None:
    found = evaluate_restoration(model, TEXTS)
    assert found.figures["exact"] == 0
    assert found.figures["perplexity"] > 2


def test_no_texts_and_unknown_sources_are_refused(model: RestorableModel, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no texts"):
        evaluate_restoration(model, [])
    with pytest.raises(InvalidInput, match="no source 'novels'"):
        held_out_texts(tmp_path, "novels", "dev", 1, 5)


def test_rouge_l_is_the_longest_common_subsequence() -> None:
    scores = rouge_scores(["the cat the mat sat", ""], ["The cat sat.", "a"])
    assert scores["rougeL"][0] == pytest.approx(100 * 2 * 3 / (5 + 3))
    assert scores["rouge2"].tolist() == pytest.approx([100 * 2 * 1 / (4 + 2), 0])


def test_a_longer_shape_needs_fewer_vectors(model: RestorableModel) -> None:
    one = RestorableModel(RestorableNetwork(replace(SHAPE, stretch=48, vectors=1)), VOCABULARY)
    assert [len(memory) for memory in one.encode(TEXTS)] == [1, 1, 1]
    assert max(len(memory) for memory in model.encode(TEXTS)) > 1
