"""Bi-encoders above a frozen backbone learn which passage answers, and recall is counted as a loop would."""

import copy
import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from models.encoders.restorable.model import RestorableModel
from models.encoders.restorable.shape import RestorableShape
from models.encoders.restorable.vocabulary import Vocabulary
from models.errors import InvalidInput
from research.evaluation.question_passages import QuestionSet, development, read_questions, with_pairs
from research.evaluation.restorable_retrieval import Read, evaluate_restorable_retrieval, recalls
from research.restorable.assembly import assemble
from research.restorable.network import VariantNetwork
from research.training.bi_encoder import (
    BiEncoder,
    BiEncoderConfig,
    encode_all,
    hidden_states,
    read_inputs,
    retrieving,
    train_bi_encoder,
)
from research.training.loop import Schedule

PASSAGES = ("the cat sat", "a dog barked", "rain fell", "the green door stood open")
QUESTIONS = ("cat", "dog", "rain", "door")
SET = QuestionSet(QUESTIONS, PASSAGES, tuple(frozenset([place]) for place in range(4)))
CONFIG = BiEncoderConfig(Schedule(steps=60, rate=1e-2), batch=4)


@pytest.fixture
def model(backbone: Path) -> RestorableModel:
    torch.manual_seed(2)
    vocabulary = Vocabulary.learn(PASSAGES, 280)
    shape = RestorableShape(
        vocabulary=vocabulary.size, dim=16, width=16, heads=2, hidden=32, encoder_layers=1, pooling="mean"
    )
    network, reader = assemble(shape, str(backbone))
    return RestorableModel(network, vocabulary, reader=reader)


def test_learned_questions_find_their_passages(model: RestorableModel) -> None:
    states = hidden_states(model.network, model.reader, QUESTIONS), hidden_states(model.network, model.reader, PASSAGES)
    before = copy.deepcopy(model.network.state_dict())
    trained = train_bi_encoder(model.network, SET, *states, CONFIG)
    assert recalls(trained, Read(SET, *states))[:, 0].all()
    assert all(value.equal(before[name]) for name, value in model.network.state_dict().items())
    for name, value in trained.questions.named_parameters():
        if name.startswith(("backbone.", "decoder.", "embed.")):
            assert value.equal(before[name]), name


def test_recall_is_that_of_a_loop(model: RestorableModel) -> None:
    states = hidden_states(model.network, model.reader, QUESTIONS), hidden_states(model.network, model.reader, PASSAGES)
    pair = BiEncoder(model.network, model.network)
    found = recalls(pair, Read(SET, *states))
    questions, passages = (encode_all(model.network, of_texts) for of_texts in states)
    for number, row in enumerate(found):
        better = sum(questions[number] @ passage > questions[number] @ passages[number] for passage in passages)
        assert row.tolist() == [better < cut for cut in (1, 5, 20, 100)]


def test_hidden_states_do_not_depend_on_the_batch_and_need_a_backbone(model: RestorableModel) -> None:
    together = hidden_states(model.network, model.reader, PASSAGES)
    for text, states in zip(PASSAGES, together, strict=True):
        np.testing.assert_allclose(hidden_states(model.network, model.reader, [text])[0], states, atol=5e-3)
    with pytest.raises(InvalidInput, match="no backbone"):
        hidden_states(VariantNetwork(RestorableShape()), model.reader, PASSAGES)


def test_an_encoder_without_a_backbone_learns_as_a_whole_and_sums_the_tokens_of_stretches() -> None:
    torch.manual_seed(3)
    vocabulary = Vocabulary.learn(PASSAGES, 280)
    shape = RestorableShape(
        vocabulary=vocabulary.size, dim=24, width=16, heads=2, hidden=32, encoder_layers=1, stretch=4, vectors=8
    )
    model = RestorableModel(VariantNetwork(shape), vocabulary)
    network = retrieving(model.network)
    assert (network.shape.pooling, model.network.shape.pooling) == ("mean", "bound")
    inputs = read_inputs(model, PASSAGES)
    with torch.inference_mode():
        for row, vector in zip(inputs, encode_all(network, inputs), strict=True):
            total = np.zeros(24, np.float32)
            for start in range(0, len(row), 4):
                ids = torch.from_numpy(row[None, start : start + 4].astype(np.int64))
                hidden = network.embed(ids) * 4 + network.places[: ids.shape[1]]
                total += network.project(network.norm(network.encoder(hidden))).sum(dim=1)[0].numpy()
            np.testing.assert_allclose(vector, total / np.linalg.norm(total), atol=1e-4)
    figures = evaluate_restorable_retrieval(model, SET, {"one": SET}, CONFIG, [1])
    assert figures["one"]["restored"]["recall@5"] == 100
    trained = train_bi_encoder(network, SET, read_inputs(model, QUESTIONS), inputs, CONFIG)
    assert recalls(trained, Read(SET, read_inputs(model, QUESTIONS), inputs))[:, 0].all()
    assert not trained.questions.embed.weight.equal(network.embed.weight)


def test_questions_for_choosing_are_not_learnt_from_and_cloze_pairs_come_after_the_others() -> None:
    many = QuestionSet(
        tuple(f"question {number}" for number in range(50)),
        tuple(f"passage {number}" for number in range(50)),
        tuple(frozenset([number]) for number in range(50)),
    )
    learned, measured = development(many)
    assert set(learned.questions).isdisjoint(measured["dev"].questions)
    assert len(learned.questions) + len(measured["dev"].questions) == 50
    assert 0 < len(measured["dev"].questions) < 25
    for chosen in (learned, measured["dev"]):
        assert chosen.passages == many.passages
        for question, answers in zip(chosen.questions, chosen.answers, strict=True):
            assert answers == many.answers[many.questions.index(question)]
    more = with_pairs(learned, [("new", "a passage")])
    assert (more.questions[-1], more.passages[max(more.answers[-1])]) == ("new", "a passage")
    assert more.answers[:-1] == learned.answers


def test_both_beginnings_are_measured_on_every_set(model: RestorableModel) -> None:
    figures = evaluate_restorable_retrieval(model, SET, {"one": SET}, CONFIG, [1, 2])
    assert set(figures["one"]) == {"questions", "restored", "plain", "gain"}
    assert figures["one"]["restored"]["recall@5"] == figures["one"]["plain"]["recall@5"] == 100
    assert figures["one"]["gain"] == {"recall@20": 0, "lower": 0}


def test_sets_are_read_and_halves_of_qed_do_not_meet(tmp_path: Path) -> None:
    for name in ("qed", "xquad", "scifact"):
        (tmp_path / name).mkdir()
    rows = [{"question_text": f"q{number}", "paragraph_text": f"p{number // 2}"} for number in range(20)]
    with gzip.open(tmp_path / "qed/qed-dev.jsonlines.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    article = {"paragraphs": [{"context": "c", "qas": [{"question": "a"}, {"question": "b"}]}]}
    with gzip.open(tmp_path / "xquad/xquad.en.json.gz", "wt", encoding="utf-8") as file:
        json.dump({"data": [article]}, file)
    with gzip.open(tmp_path / "scifact/corpus_train.csv.gz", "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["doc_id", "title", "abstract"], ["7", "T.", "['One.', 'Two.']"], ["8", "U.", "['Three.']"]])
    for name in ("claims_train.csv", "claims_validation.csv"):
        with (tmp_path / "scifact" / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["claim", "evidence_doc_id"], ["x", "8"], ["x", "7"], ["y", ""]])
    learned, measured = read_questions(tmp_path)
    assert set(learned.questions) & set(measured["qed"].questions) == set()
    assert set(learned.questions) | set(measured["qed"].questions) == {f"q{number}" for number in range(20)} | {"x"}
    assert set(measured["qed"].passages) == {f"p{number}" for number in range(10)}
    assert measured["xquad"] == QuestionSet(("a", "b"), ("c",), (frozenset([0]), frozenset([0])))
    assert measured["scifact"] == QuestionSet(("x",), ("T. One. Two.", "U. Three."), (frozenset([0, 1]),))
    at = learned.questions.index("x")
    assert {learned.passages[place] for place in learned.answers[at]} == {"T. One. Two.", "U. Three."}
