"""The second look without torch: the same as torch, and the same whatever else is judged."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.artifacts import SHIPPED, Artifact, save_artifact
from models.backbones.opening import open_backbone
from models.backbones.torch_network import load_backbone
from models.encoders.hashing import HashingEncoder
from models.encoders.slice import SliceEncoder
from models.errors import BackboneMismatch
from models.types import CharSpan
from models.verifier.network import TEXT_TOKENS, windows_of
from models.verifier.types import Pair
from models.verifier.verdicts import READ, Evidence, Scale, evidence_of, judgement
from models.verifier.verifier import RECIPE, Verifier, open_verifier
from research.training.verifier import PairClassifier
from tests.tiny_bert import save_tiny_bert

PAIRS = [
    Pair("nobody saw the cat", "It was late, and nobody saw the cat.", CharSpan(17, 36)),
    Pair("the door was open", "The door, which was green, stood open."),
    Pair("rain fell", "A dog barked, and rain fell.", CharSpan(0, 12), similarity=0.9),
    Pair("rain fell", "the cat " * 200, CharSpan(1000, 1003)),
]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> tuple[PairClassifier, Path, Path]:
    """A classifier with random weights, its backbone's folder, and the folder of its artifact."""
    folder, out = save_tiny_bert(tmp_path_factory.mktemp("bert")), tmp_path_factory.mktemp("verifier")
    made = PairClassifier(load_backbone(str(folder), device="cpu"), frozen_layers=1)
    with torch.no_grad():
        for parameter in made.trained().values():
            parameter.add_(torch.randn_like(parameter) / 4)
            parameter.copy_(parameter.half().float())
    tensors = {name: p.detach().half() for name, p in made.trained().items()}
    save_artifact(out, tensors, {"recipe": RECIPE, "backbone_sha256": made.backbone.weights_sha256})
    return made, folder, out


@pytest.fixture
def verifier(network: tuple[PairClassifier, Path, Path]) -> Verifier:
    _, folder, out = network
    made = open_verifier(SliceEncoder(open_backbone(str(folder), device="cpu")), out)
    assert made is not None
    return made


def test_it_computes_what_torch_computes(network: tuple[PairClassifier, Path, Path], verifier: Verifier) -> None:
    np.testing.assert_allclose(np.array(verifier.logits(PAIRS)), network[0].logits(PAIRS).numpy(), atol=1e-4)


def test_a_device_by_name_judges_as_the_default_does(network: tuple[PairClassifier, Path, Path]) -> None:
    """Where the network is in memory at once, SLICE's layers are put in place there; the verifier has the file's."""
    _, folder, out = network
    by_default, by_name = open_backbone(str(folder), device="cpu"), load_backbone(str(folder), device="cpu")
    name = "encoder.layer.0.output.dense.weight"
    layers = {name: by_default.parameters()[name] + 1}
    trained = Artifact(layers, {"backbone_sha256": by_default.weights_sha256}, "0" * 64)
    verifiers = [open_verifier(SliceEncoder(files, trained), out) for files in (by_default, by_name)]
    expected, found = (np.array(each.logits(PAIRS)) for each in verifiers if each)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.ci("loads the shipped models")
def test_whole_numbers_stay_near(
    network: tuple[PairClassifier, Path, Path], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("models.verifier.network.has_byte_products", lambda: True)
    found = np.array(request.getfixturevalue("verifier").logits(PAIRS))
    exact = network[0].logits(PAIRS).numpy()
    assert 0 < np.abs(found - exact).max() < 0.05 * np.ptp(exact)


def test_the_mark_counts(verifier: Verifier) -> None:
    marked, unmarked = verifier.logits([PAIRS[0], replace(PAIRS[0], mark=None)])
    assert np.abs(marked - unmarked).max() > 1e-3


@pytest.mark.parametrize("in_bytes", [False, True])
def test_judgements_do_not_depend_on_batch_and_order(
    in_bytes: bool, network: tuple[PairClassifier, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.verifier.network.has_byte_products", lambda: in_bytes)
    _, folder, out = network
    rng = random.Random(3)
    words = ["cat", "dog", "door", "green", "rain", "open", "late", "nobody", "fell"]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 40))) for _ in range(60)]
    pairs = [Pair(rng.choice(texts)[:30], text, similarity=rng.random()) for text in texts]
    encoder = SliceEncoder(open_backbone(str(folder), device="cpu"))
    together, alone = open_verifier(encoder, out), open_verifier(encoder, out)
    assert together is not None
    assert alone is not None
    judged = together.judge(pairs)
    order = rng.sample(range(len(pairs)), len(pairs))
    assert [alone.judge([pairs[number]])[0] for number in order] == [judged[number] for number in order]
    assert together.judge(pairs[::-1]) == judged[::-1]  # of those that are kept


def test_a_long_text_is_read_around_its_mark(network: tuple[PairClassifier, Path, Path]) -> None:
    (window,) = windows_of(network[0].backbone, [PAIRS[3]])
    assert len(window.text) == TEXT_TOKENS
    assert 40 < int(np.flatnonzero(window.marked)[0]) < 70


def test_forms_of_letters_are_read_as_letters(network: tuple[PairClassifier, Path, Path]) -> None:
    forms = Pair("the ﬂoor", "It is ﬁne, the ﬁre.", CharSpan(15, 18))
    letters = Pair("the floor", "It is fine, the fire.", CharSpan(16, 20))
    form, plain = windows_of(network[0].backbone, [forms, letters])
    assert form.phrase.tolist() == plain.phrase.tolist()
    assert (form.text.tolist(), form.marked.tolist()) == (plain.text.tolist(), plain.marked.tolist())


def test_weights_over_another_backbone_and_encoders_without_one_have_no_verifier(
    network: tuple[PairClassifier, Path, Path], tmp_path: Path
) -> None:
    _, folder, out = network
    encoder = SliceEncoder(open_backbone(str(folder), device="cpu"))
    assert open_verifier(HashingEncoder(), out) is None
    tensors = {"mark": torch.zeros(16), "head.weight": torch.zeros(13, 32), "head.bias": torch.zeros(13)}
    save_artifact(tmp_path / "other", tensors, {"recipe": RECIPE, "backbone_sha256": "0"})
    assert open_verifier(encoder, tmp_path / "other") is None
    save_artifact(tmp_path / "slice", tensors, {"recipe": "slice.v1"})
    with pytest.raises(BackboneMismatch, match="not those of a verifier"):
        open_verifier(encoder, tmp_path / "slice")


def test_rules_say_what_differs_where_they_see_it() -> None:
    scale = Scale(-3.0, Evidence(0.0, 0.0, 0.0, 0.0), 0.8)
    logits = np.zeros(13, np.float32)
    logits[2] = 1  # unrelated, says the network
    number = judgement(Pair("18 months' notice", "A notice of 13 months."), logits, scale)
    negation = judgement(Pair("you can cancel", "You cannot cancel."), logits, scale)
    assert (number.verdict, number.differs[0]) == ("differs", "number")
    assert (negation.verdict, negation.differs[0]) == ("differs", "negation")
    assert judgement(Pair("you can cancel", "We sell bread."), logits, scale).verdict == "unrelated"
    near_miss = judgement(Pair("cancel my plan", "I cancelled the train."), None, replace(scale, intercept=-0.5))
    assert (near_miss.verdict, near_miss.differs) == ("differs", ())


def test_an_equal_quantity_in_other_words_counts_for_a_match() -> None:
    found = evidence_of(Pair("a notice of 18 months", "One must say so a year and a half before."), 0.0)
    assert (found.met, found.contradicted) == (1.0, 0.0)


def test_what_is_far_is_not_read(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Pair("the cat", "a cat of ours", CharSpan(0, 5), raw) for raw in (READ + 0.01, READ)]
    read, logits = list[Pair](), verifier.logits

    def noted(given: list[Pair]) -> object:
        read.extend(given)
        return logits(given)

    monkeypatch.setattr(verifier, "logits", noted)
    verifier.judge(pairs)
    assert read == pairs[:1]


def test_so_many_judgements_are_kept_and_the_oldest_go(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.verifier.verifier._KEPT", 2)
    read: list[Pair] = []
    logits = verifier.logits
    monkeypatch.setattr(verifier, "logits", lambda pairs: read.extend(pairs) or logits(pairs))
    near = [replace(pair, similarity=0.8) for pair in PAIRS[:3]]
    for pair in (*near, near[2], near[1], near[0]):
        verifier.judge([pair])
    assert read == [*near, near[0]]


def test_the_shipped_weights_are_at_most_15_megabytes() -> None:
    assert (SHIPPED / "verifier/weights.safetensors").stat().st_size <= 15e6


def test_nothing_is_likely_below_the_least_similarity() -> None:
    scale = Scale(-16.0, Evidence(20.0, 0.8, -5.0, 1.5), 0.8)
    pair, surest = Pair("two days", "It takes 48 hours.", similarity=scale.least), 7.0
    below = replace(pair, similarity=scale.least - 0.001)
    assert scale.probability(evidence_of(below, surest)) < 0.5
    assert scale.probability(evidence_of(replace(pair, similarity=scale.least + 0.001), surest)) > 0.5


def test_the_network_counts_as_far_as_texts_are_near() -> None:
    pairs = [Pair("a cat", "a dog", similarity=raw) for raw in (0.5, 0.7, 0.9, 1.0)]
    assert [evidence_of(pair, -4.0).network for pair in pairs] == [0, -4, -8, -8]
    assert [evidence_of(pair, -4.0).similarity for pair in pairs] == [0.5, 0.7, 0.9, 0.9]


def test_the_probability_is_that_of_a_linear_function() -> None:
    scale = Scale(0.5, Evidence(0.0, 0.1, 0.2, 0.3), 0.8)
    assert scale.probability(Evidence(0.0, 1.0, 2.0, 3.0)) == pytest.approx(1 / (1 + np.exp(-1.9)))
